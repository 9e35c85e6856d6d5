package expr

import (
	"crypto/rand"
	"fmt"
	"math"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

func init() {
	fn(spec{name: "RANDOM_BYTES", min: 1, max: 1, class: "misc", usage: "RANDOM_BYTES(n)", doc: "1 to 1024 random bytes.", kinds: "i", volatile: true, ret: returns(TBytes(1024)),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				n := intAt(ev.args[0], i)
				if n < 1 || n > 1024 {
					return errs.Userf(errs.OutOfRange, "length value is out of range in 'random_bytes'")
				}
				b := make([]byte, n)
				if _, err := rand.Read(b); err != nil {
					return errs.Internalf("make random bytes: %w", err)
				}
				out.SetBytes(i, b)
				return nil
			}
		}})
	fn(spec{name: "FORMAT_PICO_TIME", min: 1, max: 1, class: "misc", usage: "FORMAT_PICO_TIME(n)", doc: "Picoseconds in a unit for people, such as 3.50 ns.", kinds: "d", ret: retPlain(17),
		body: func(ev *evaluation) func(i int, out *vector.Vec) error {
			return func(i int, out *vector.Vec) error {
				out.SetBytes(i, []byte(picoTime(floatAt(ev.args[0], i))))
				return nil
			}
		}})
}

func picoTime(x float64) string {
	units := []struct {
		size float64
		name string
	}{{24 * 3600e12, "d"}, {3600e12, "h"}, {60e12, "min"}, {1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}}
	for _, u := range units {
		if math.Abs(x) < u.size {
			continue
		}
		if y := x / u.size; math.Abs(y) < 100000 {
			return fmt.Sprintf("%4.2f %s", y, u.name)
		} else {
			return fmt.Sprintf("%4.2e %s", y, u.name)
		}
	}
	return fmt.Sprintf("%3d ps", int64(x))
}
