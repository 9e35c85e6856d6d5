//go:build ignore

// gen_collation writes collation.bin.gz, the weights of the collations:
//
//	go run gen_collation.go allkeys-9.0.0.txt weights.tsv
//
// allkeys-9.0.0.txt is the Unicode Consortium's table of UCA 9.0.0 (in the
// Python package pyuca, for one). weights.tsv has a line "code point TAB hex of
// the utf8mb4_unicode_ci weights TAB hex of the utf8mb4_general_ci weight" for
// every code point up to U+FFFF without surrogates. Both collations rest on
// tables of Unicode (UCA 4.0.0, and the base letters of Unicode 3) that are no
// longer published, so the file holds what a MySQL server answers:
//
//	SELECT HEX(WEIGHT_STRING(c COLLATE utf8mb4_unicode_ci)), HEX(WEIGHT_STRING(c COLLATE utf8mb4_general_ci))
//
// It is an observation of behaviour that data in these collations depends on;
// no source or data file of a server was used.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

type writer struct{ b []byte }

func (w *writer) u(x int) { w.b = binary.AppendUvarint(w.b, uint64(x)) }

func (w *writer) table(t map[int][]int) {
	var cps []int
	for cp := range t {
		cps = append(cps, cp)
	}
	sort.Ints(cps)
	w.u(len(cps))
	last := 0
	for _, cp := range cps {
		w.u(cp - last)
		last = cp
		w.u(len(t[cp]))
		for _, x := range t[cp] {
			w.u(x)
		}
	}
}

func hex(s string) int {
	x, err := strconv.ParseInt(s, 16, 32)
	if err != nil {
		log.Fatal(err)
	}
	return int(x)
}

func main() {
	f, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	weight := regexp.MustCompile(`\[[.*]([0-9A-F]+)\.`)
	single := map[int][]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		line, _, _ := strings.Cut(s.Text(), "#")
		cps, ws, ok := strings.Cut(line, ";")
		if !ok || strings.HasPrefix(line, "@") {
			continue
		}
		points := strings.Fields(cps)
		if len(points) != 1 {
			continue // MySQL uses no contractions
		}
		weights := []int{}
		for _, m := range weight.FindAllStringSubmatch(ws, -1) {
			if p := hex(m[1]); p != 0 && len(weights) < 8 { // as MySQL cuts the one longer expansion
				weights = append(weights, p)
			}
		}
		single[hex(points[0])] = weights
	}
	var w writer
	w.table(single)
	old, general := map[int][]int{}, map[int][]int{}
	f, err = os.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		p := strings.Split(s.Text(), "\t")
		cp, err := strconv.Atoi(p[0])
		if err != nil {
			log.Fatal(err)
		}
		var ws []int
		for i := 0; i < len(p[1]); i += 4 {
			ws = append(ws, hex(p[1][i:i+4]))
		}
		base := 0xFBC0
		switch {
		case cp >= 0x3400 && cp <= 0x4DB5:
			base = 0xFB80
		case cp >= 0x4E00 && cp <= 0x9FA5:
			base = 0xFB40
		}
		if len(ws) != 2 || ws[0] != base+cp>>15 || ws[1] != cp&0x7FFF|0x8000 {
			old[cp] = ws
		}
		if g := hex(p[2]); g != cp {
			general[cp] = []int{g}
		}
	}
	w.table(old)
	w.table(general)
	out, err := os.Create("collation.bin.gz")
	if err != nil {
		log.Fatal(err)
	}
	z, _ := gzip.NewWriterLevel(out, gzip.BestCompression)
	if _, err := z.Write(w.b); err != nil {
		log.Fatal(err)
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(single), len(old), len(general), len(w.b))
}
