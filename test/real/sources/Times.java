// Prints what one clock call costs in Java, and reads the CPU clocks of threads. Usage: Times CALLS
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.LongSupplier;

public final class Times {
    private static long sink;

    private static void cost(String name, int calls, LongSupplier call) {
        double best = Double.MAX_VALUE;
        for (int round = 0; round < 5; ++round) {
            long begin = System.nanoTime();
            for (int i = 0; i < calls / 5; ++i) {
                sink += call.getAsLong();
            }
            best = Math.min(best, (System.nanoTime() - begin) / (double) (calls / 5));
        }
        System.out.println(name + "\t" + String.format("%.1f", best));
    }

    public static void main(String[] arguments) throws InterruptedException {
        int calls = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1000;
        cost("System.nanoTime", calls, System::nanoTime);
        cost("System.currentTimeMillis", calls, System::currentTimeMillis);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long begin = threads.getCurrentThreadCpuTime();
        Thread other = new Thread(() -> cost("System.nanoTime in a thread", calls, System::nanoTime));
        other.start();
        other.join();
        cost("System.nanoTime again", calls, System::nanoTime);
        long took = threads.getCurrentThreadCpuTime() - begin;
        System.out.println("thread CPU clock goes " + (took > 0 ? "on" : "nowhere"));
    }
}
