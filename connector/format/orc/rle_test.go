package orc

import (
	"slices"
	"testing"
)

// plain makes a stream of uncompressed bytes.
func plain(b []byte) *stream {
	s := &stream{}
	s.reset(&file{chunk: 1 << 18}, section{0, int64(len(b))}, b, 0)
	return s
}

// TestIntRLE decodes the examples of the ORC specification.
func TestIntRLE(t *testing.T) {
	repeat := func(v int64, n int) []int64 { return slices.Repeat([]int64{v}, n) }
	down := make([]int64, 100)
	for i := range down {
		down[i] = int64(100 - i)
	}
	for _, c := range []struct {
		name       string
		signed, v2 bool
		bytes      []byte
		want       []int64
	}{
		{"v1 run", false, false, []byte{0x61, 0x00, 0x07}, repeat(7, 100)},
		{"v1 falling run", false, false, []byte{0x61, 0xff, 0x64}, down},
		{"v1 literals", false, false, []byte{0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b}, []int64{2, 3, 6, 7, 11}},
		{"short repeat", false, true, []byte{0x0a, 0x27, 0x10}, repeat(10000, 5)},
		{"direct", false, true, []byte{0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef}, []int64{23713, 43806, 57005, 48879}},
		{"patched base", false, true, []byte{0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8},
			[]int64{2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170, 2180, 2190}},
		{"delta", false, true, []byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}},
	} {
		var r intRLE
		r.reset(plain(c.bytes), c.signed, c.v2)
		got := make([]int64, len(c.want))
		for i := 0; i < len(got); i += 3 { // in pieces
			if err := r.read(got[i:min(i+3, len(got))]); err != nil {
				t.Fatal(c.name, err)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		if err := r.read(make([]int64, 1)); err == nil {
			t.Errorf("%s: it goes on", c.name)
		}
	}
}

// TestByteRLE decodes the examples of the ORC specification.
func TestByteRLE(t *testing.T) {
	var r byteRLE
	r.reset(plain([]byte{0x61, 0x00, 0xfe, 0x44, 0x45}))
	want := append(make([]byte, 100), 0x44, 0x45)
	for i, w := range want {
		if b, err := r.next(); err != nil || b != w {
			t.Fatal(i, b, err)
		}
	}
	var bits bitReader
	bits.reset(plain([]byte{0xff, 0x80}))
	var dst [1]uint64
	if n, err := bits.read(dst[:], 8); err != nil || n != 1 || dst[0] != 1 {
		t.Error(n, dst, err)
	}
}

// TestBitReader reads bits in pieces of any length.
func TestBitReader(t *testing.T) {
	data := []byte{0xf0}
	for i := range 16 {
		data = append(data, byte(i*37+11))
	}
	for step := 1; step < 128; step++ {
		var r bitReader
		r.reset(plain(data))
		for at := 0; at < 128; at += step {
			n := min(step, 128-at)
			dst := make([]uint64, (n+63)/64)
			count, err := r.read(dst, n)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				bit := data[1+(at+i)/8]>>(7-(at+i)%8)&1 == 1
				if got := dst[i>>6]>>(i&63)&1 == 1; got != bit {
					t.Fatalf("step %d: bit %d is %v", step, at+i, got)
				}
				if bit {
					count--
				}
			}
			if count != 0 {
				t.Fatalf("step %d: the count is off by %d", step, count)
			}
		}
	}
}

// FuzzIntRLE decodes any bytes.
func FuzzIntRLE(f *testing.F) {
	f.Add([]byte{0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c}, true, true)
	f.Add([]byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, false, true)
	f.Add([]byte{0xfb, 0x02, 0x03, 0x04, 0x07, 0xb}, true, false)
	f.Fuzz(func(t *testing.T, b []byte, signed, v2 bool) {
		var r intRLE
		r.reset(plain(b), signed, v2)
		buf := make([]int64, 100)
		for range 1000 {
			if r.read(buf) != nil {
				return
			}
		}
	})
}
