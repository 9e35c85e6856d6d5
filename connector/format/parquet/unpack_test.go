package parquet

import (
	"math/rand/v2"
	"testing"
)

// TestUnpack compares unpack with single bits, for all widths, starts and lengths.
func TestUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	b := make([]byte, 200)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for width := uint(0); width <= 32; width++ {
		for bit := range 16 {
			for n := range 40 {
				dst := make([]uint32, n)
				unpack(dst, b[:min(len(b), (bit+n*int(width)+7)/8)], bit, width)
				for i, got := range dst {
					want := uint32(0)
					for k := range int(width) {
						at := bit + i*int(width) + k
						want |= uint32(b[at>>3]>>(at&7)&1) << k
					}
					if got != want {
						t.Fatalf("width %d, bit %d, value %d of %d: %d, want %d", width, bit, i, n, got, want)
					}
				}
			}
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	src, dst := make([]byte, 4*4096+8), make([]uint32, 4096)
	for _, width := range []uint{4, 6, 12, 20} {
		b.Run(string(rune('0'+width/10))+string(rune('0'+width%10)), func(b *testing.B) {
			b.SetBytes(4096)
			for b.Loop() {
				unpack(dst, src, 0, width)
			}
		})
	}
}
