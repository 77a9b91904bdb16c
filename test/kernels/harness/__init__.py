"""Real kernels under QEMU: fetch, pack, boot, judge. Python's standard library only; scripts/kernel-matrix is the way in."""
