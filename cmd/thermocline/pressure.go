package main

import (
	"runtime/debug"
	gometrics "runtime/metrics"
)

// heapPressure returns a function that says how many bytes live beyond three quarters of
// the runtime's memory limit: with less room than that the collector would run all the
// time, whatever of it budgets know. It says so once for each collection, since what is
// given up lives until the next one. Its calls may not be concurrent.
func heapPressure() func() int64 {
	samples := []gometrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	limit, seen := debug.SetMemoryLimit(-1)/4*3, uint64(0)
	return func() int64 {
		gometrics.Read(samples)
		for _, s := range samples {
			if s.Value.Kind() != gometrics.KindUint64 {
				return 0
			}
		}
		live, cycle := int64(samples[0].Value.Uint64()), samples[1].Value.Uint64()
		if live <= limit || cycle == seen {
			return 0
		}
		seen = cycle
		return live - limit
	}
}
