package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// What lives beyond three quarters of the memory limit is said once for a collection.
func TestHeapPressure(t *testing.T) {
	kept := make([]byte, 64<<20)
	runtime.GC()
	before := debug.SetMemoryLimit(1 << 40)
	defer debug.SetMemoryLimit(before)
	if n := heapPressure()(); n != 0 {
		t.Errorf("%d bytes too many, the limit is far", n)
	}
	debug.SetMemoryLimit(64 << 20)
	over := heapPressure()
	debug.SetMemoryLimit(before)
	if n := over(); n < 16<<20 || n > 1<<30 {
		t.Errorf("%d bytes too many, of 64 MiB and the test's", n)
	}
	if n := over(); n > 0 {
		t.Errorf("%d bytes too many again, nothing was collected", n)
	}
	runtime.KeepAlive(kept)
}
