//go:build ignore

// gen_collation_levels writes collation_levels.bin.gz, the weights of
// utf8mb4_unicode_520_ci and the second and third weights of UCA 9.0.0:
//
//	go run gen_collation_levels.go weights520.tsv weights900.tsv
//
// The files have a line for every code point but surrogates, with what a MySQL
// server answers: "code point TAB HEX(WEIGHT_STRING(c COLLATE utf8mb4_unicode_520_ci))"
// and "code point TAB HEX(WEIGHT_STRING(c COLLATE utf8mb4_0900_as_cs))". It is an
// observation of behaviour that data in these collations depends on; no source or
// data file of a server was used.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
)

// weights reads lists of 16-bit numbers, levels being separated by 0000.
func weights(s string) (levels [][]int) {
	levels = [][]int{nil}
	for i := 0; i+4 <= len(s); i += 4 {
		x, err := strconv.ParseInt(s[i:i+4], 16, 32)
		if err != nil {
			log.Fatal(err)
		}
		if x == 0 {
			levels = append(levels, nil)
			continue
		}
		levels[len(levels)-1] = append(levels[len(levels)-1], int(x))
	}
	return levels
}

func lines(file string, f func(cp int, s string)) {
	in, err := os.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	for s := bufio.NewScanner(in); s.Scan(); {
		p := strings.Split(s.Text(), "\t")
		cp, err := strconv.Atoi(p[0])
		if err != nil {
			log.Fatal(err)
		}
		if cp < 0xD800 || cp > 0xDFFF {
			f(cp, p[1])
		}
	}
}

func main() {
	var b []byte
	u := func(x int) { b = binary.AppendUvarint(b, uint64(x)) }
	list := func(l []int) {
		u(len(l))
		for _, x := range l {
			u(x)
		}
	}
	type entry struct {
		cp    int
		lists [][]int
	}
	write := func(es []entry) {
		u(len(es))
		last := 0
		for _, e := range es {
			u(e.cp - last)
			last = e.cp
			for _, l := range e.lists {
				list(l)
			}
		}
	}
	var old []entry
	lines(os.Args[1], func(cp int, s string) {
		l := weights(s)
		if len(l) != 1 {
			if strings.Trim(s, "0") == "" {
				l = [][]int{nil}
			} else {
				log.Fatalf("%d has levels: %s", cp, s)
			}
		}
		base := 0xFBC0
		switch {
		case cp >= 0x3400 && cp <= 0x4DB5:
			base = 0xFB80
		case cp >= 0x4E00 && cp <= 0x9FA5:
			base = 0xFB40
		}
		if slices.Equal(l[0], []int{base + cp>>15, cp&0x7FFF | 0x8000}) {
			return
		}
		old = append(old, entry{cp, l})
	})
	write(old)
	var levels []entry
	lines(os.Args[2], func(cp int, s string) {
		l := weights(s)
		if len(l) != 3 {
			log.Fatalf("%d has %d levels: %s", cp, len(l), s)
		}
		n := 0
		for i := 0; i < len(l[0]); i++ {
			if l[0][i] >= 0xFB00 {
				i++ // a pair is one element
			}
			n++
		}
		plain := len(l[1]) == n && len(l[2]) == n
		for i := 0; plain && i < n; i++ {
			plain = l[1][i] == 0x20 && l[2][i] == 2
		}
		if !plain {
			levels = append(levels, entry{cp, l[1:]})
		}
	})
	write(levels)
	out, err := os.Create("collation_levels.bin.gz")
	if err != nil {
		log.Fatal(err)
	}
	z, _ := gzip.NewWriterLevel(out, gzip.BestCompression)
	if _, err := z.Write(b); err != nil {
		log.Fatal(err)
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(old), len(levels), len(b))
}
