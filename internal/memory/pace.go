package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Percentages of what lives by which the heap may grow between two collections.
const (
	mostGrowth  = 400
	leastGrowth = 25
)

// Room that is left between two collections beside what is in proportion to
// pointers.
const leastRoom = 256 << 20

// Pace makes the garbage collector's pace follow what a collection costs, from now on
// and for the life of the process. That cost rises with the bytes in which pointers
// are looked for; what queries keep, as pages and columns of numbers, has none. So
// the heap may grow by four times those bytes before it is collected, or by 256 MiB,
// or by a quarter of what lives, whichever is most, and never by more than four times
// what lives. A percentage of all that lives (GOGC) would let a process with some
// gigabytes of pages touch ten more gigabytes of fresh memory before it uses old
// memory again, which takes longer than collecting it. The runtime's memory limit
// holds all the same.
//
// It is called once, before anything else sets the percentage.
func Pace() {
	debug.SetGCPercent(mostGrowth)
	p := &pace{percent: mostGrowth, samples: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}}
	p.arm()
}

// pace is what the collection that is over says about the next one. One goroutine at
// a time, the runtime's for finalizers, uses it.
type pace struct {
	percent int
	samples []metrics.Sample
}

// sentinel is garbage from the start, so that its finalizer runs after the next
// collection.
type sentinel struct{ p *pace }

func (p *pace) arm() { runtime.SetFinalizer(&sentinel{p}, collected) }

func collected(s *sentinel) {
	p := s.p
	metrics.Read(p.samples)
	if p.samples[0].Value.Kind() == metrics.KindUint64 && p.samples[1].Value.Kind() == metrics.KindUint64 {
		if n := growth(p.samples[0].Value.Uint64(), p.samples[1].Value.Uint64()); n > p.percent+p.percent/8 || n < p.percent-p.percent/8 {
			debug.SetGCPercent(n)
			p.percent = n
		}
	}
	p.arm()
}

// growth returns the percentage of live bytes, in scanned of which there may be
// pointers, by which the heap may grow.
func growth(live, scanned uint64) int {
	if live == 0 {
		return mostGrowth
	}
	room := max(4*min(scanned, live), leastRoom)
	return int(min(max(room*100/live, leastGrowth), mostGrowth))
}
