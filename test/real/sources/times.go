// Prints what one clock call costs through package time. Usage: times CALLS
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	calls := 1000
	if len(os.Args) > 1 {
		calls, _ = strconv.Atoi(os.Args[1])
	}
	best := 1e18
	for round := 0; round < 5; round++ {
		begin := time.Now()
		for i := 0; i < calls/5; i++ {
			time.Now()
		}
		took := float64(time.Since(begin).Nanoseconds()) / float64(calls/5)
		if took < best {
			best = took
		}
	}
	fmt.Printf("time.Now\t%.1f\n", best)
}
