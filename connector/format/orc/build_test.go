package orc

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/testkit"
	"github.com/thermocline/thermocline/internal/vector"
)

// Messages of the format, written by hand.

func pbNum(id int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(id)<<3), v)
}

func pbMsg(id int, parts ...[]byte) []byte {
	body := join(parts...)
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(id)<<3|2), uint64(len(body))), body...)
}

func join(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// testStream is a stream of a hand-made file.
type testStream struct {
	kind   streamKind
	column int
	data   []byte
}

// testFile is a file of one uncompressed stripe with one column "k".
type testFile struct {
	types     [][]byte // Type messages below the root's
	rows      uint64
	encodings [][2]uint64 // of the types: kind, dictionary size
	streams   []testStream
	zone      string
	footer    []byte // more fields of the footer
	codec     uint64
	chunk     uint64
	version   []uint64
}

func (f testFile) build() []byte {
	b := []byte(magic)
	var sf []byte
	for _, s := range f.streams {
		b = append(b, s.data...)
		sf = append(sf, pbMsg(1, pbNum(1, uint64(s.kind)), pbNum(2, uint64(s.column)), pbNum(3, uint64(len(s.data))))...)
	}
	data := len(b) - len(magic)
	sf = append(sf, pbMsg(2, pbNum(1, 0))...)
	for i := range f.types {
		var e [2]uint64
		if i < len(f.encodings) {
			e = f.encodings[i]
		}
		sf = append(sf, pbMsg(2, pbNum(1, e[0]), pbNum(2, e[1]))...)
	}
	if f.zone != "" {
		sf = append(sf, pbMsg(3, []byte(f.zone))...)
	}
	b = append(b, sf...)
	footer := join(pbMsg(3, pbNum(1, uint64(len(magic))), pbNum(2, 0), pbNum(3, uint64(data)), pbNum(4, uint64(len(sf))), pbNum(5, f.rows)),
		pbMsg(4, pbNum(1, uint64(kindStruct)), pbNum(2, 1), pbMsg(3, []byte("k"))))
	for _, t := range f.types {
		footer = append(footer, pbMsg(4, t)...)
	}
	footer = join(footer, pbNum(6, f.rows), f.footer)
	b = append(b, footer...)
	if f.version == nil {
		f.version = []uint64{0, 12}
	}
	ps := join(pbNum(1, uint64(len(footer))), pbNum(2, f.codec), pbNum(3, f.chunk), pbNum(4, f.version[0]), pbNum(4, f.version[1]), pbNum(6, 9), pbMsg(8000, []byte(magic)))
	return append(append(b, ps...), byte(len(ps)))
}

func typ(k kind, more ...[]byte) []byte { return join(pbNum(1, uint64(k)), join(more...)) }

// literals encodes numbers as literals of version 1.
func literals(signed bool, xs ...int64) []byte {
	b := []byte{byte(0x100 - len(xs))}
	for _, x := range xs {
		if signed {
			b = binary.AppendVarint(b, x)
		} else {
			b = binary.AppendUvarint(b, uint64(x))
		}
	}
	return b
}

func readK(t *testing.T, f testFile, typ catalog.Type) ([]string, error) {
	t.Helper()
	rows, err := read(t, f.build(), format.ReadOptions{Columns: []format.Column{{Name: "k", Type: typ}}})
	tolerate(t, err)
	return rows, err
}

// TestRefused checks that what cannot be read is refused, by name, and that no
// size in a file is believed.
func TestRefused(t *testing.T) {
	list := catalog.Type{Kind: catalog.Array, Elem: &catalog.TInt}
	data := func(b ...byte) []testStream { return []testStream{{streamData, 1, b}} }
	lengths := func(length, data []byte) []testStream {
		return []testStream{{streamLength, 1, length}, {streamData, 1, data}}
	}
	for _, c := range []struct {
		name  string
		file  testFile
		typ   catalog.Type
		class errs.Class
		text  string
	}{
		{"lzo", testFile{codec: 3}, catalog.TInt, errs.Unsupported, "codec lzo"},
		{"brotli", testFile{codec: 6}, catalog.TInt, errs.Unsupported, "codec brotli"},
		{"codec", testFile{codec: 99}, catalog.TInt, errs.Unsupported, "codec codec 99"},
		{"chunk", testFile{codec: 1, chunk: 1 << 30}, catalog.TInt, errs.Unsupported, "8 MiB"},
		{"version", testFile{version: []uint64{1, 9999}}, catalog.TInt, errs.Unsupported, "version"},
		{"encrypted", testFile{types: [][]byte{typ(kindInt)}, footer: pbMsg(10, nil)}, catalog.TInt, errs.Unsupported, "encrypted"},
		{"union", testFile{types: [][]byte{typ(kindUnion, pbNum(2, 2)), typ(kindInt)}}, catalog.TInt, errs.Corruption, "uniontype"},
		{"no types", testFile{rows: 1}, catalog.TInt, errs.Corruption, "pre-order"},
		{"cyclic types", testFile{types: [][]byte{typ(kindList, pbNum(2, 0))}}, list, errs.Corruption, "pre-order"},
		{"list without elements", testFile{types: [][]byte{typ(kindList)}}, list, errs.Corruption, "children"},
		{"type", testFile{types: [][]byte{typ(kindInt)}, rows: 1, streams: data(literals(true, 5)...)}, catalog.TString, errs.Corruption, "is int in the file, not STRING"},
		{"unknown type", testFile{types: [][]byte{typ(99)}, rows: 1}, catalog.TInt, errs.Corruption, "type 99"},
		{"variant", testFile{types: [][]byte{typ(kindBinary)}, rows: 1}, catalog.Type{Kind: catalog.Variant}, errs.Corruption, "ROW"},
		{"scale", testFile{types: [][]byte{typ(kindDecimal, pbNum(5, 5), pbNum(6, 1))}, rows: 1}, catalog.TDecimal(5, 2), errs.Corruption, "decimal(5, 1)"},
		{"no stream", testFile{types: [][]byte{typ(kindInt)}, rows: 1}, catalog.TInt, errs.Corruption, "ends early"},
		{"many rows", testFile{types: [][]byte{typ(kindInt)}, rows: 1 << 60, streams: data(literals(true, 5)...)}, catalog.TInt, errs.Corruption, "ends early"},
		{"smallint", testFile{types: [][]byte{typ(kindShort)}, rows: 1, streams: data(literals(true, 1<<15)...)}, catalog.TSmallInt, errs.Corruption, "32768"},
		{"int", testFile{types: [][]byte{typ(kindInt)}, rows: 1, streams: data(literals(true, 1<<31)...)}, catalog.TInt, errs.Corruption, "2147483648"},
		{"encoding", testFile{types: [][]byte{typ(kindInt)}, encodings: [][2]uint64{{7, 0}}, rows: 1}, catalog.TInt, errs.Corruption, "encoding 7"},
		{"string", testFile{types: [][]byte{typ(kindString)}, rows: 1, streams: lengths(literals(false, 1<<30), []byte("abc"))}, catalog.TString, errs.Corruption, "ends early"},
		{"negative string", testFile{types: [][]byte{typ(kindString)}, rows: 1, streams: lengths(literals(false, -1), []byte("abc"))}, catalog.TString, errs.Corruption, "bytes"},
		{"strings", testFile{types: [][]byte{typ(kindString)}, rows: 1, streams: lengths(literals(false, 1<<40), []byte("abc"))}, catalog.TString, errs.Resource, "2 GiB"},
		{"dictionary", testFile{types: [][]byte{typ(kindString)}, encodings: [][2]uint64{{encDictionary, 1 << 40}}, rows: 1, streams: lengths(literals(false, 1, 1), literals(false, 0))}, catalog.TString, errs.Corruption, "dictionary"},
		{"code", testFile{types: [][]byte{typ(kindString)}, encodings: [][2]uint64{{encDictionary, 1}}, rows: 1,
			streams: []testStream{{streamLength, 1, literals(false, 1)}, {streamData, 1, literals(false, 1)}, {streamDictionary, 1, []byte("a")}}}, catalog.TString, errs.Corruption, "code"},
		{"list", testFile{types: [][]byte{typ(kindList, pbNum(2, 2)), typ(kindInt)}, rows: 1, streams: lengths(literals(false, 1<<28), nil)}, list, errs.Resource, "limit"},
		{"long list", testFile{types: [][]byte{typ(kindList, pbNum(2, 2)), typ(kindInt)}, rows: 1, streams: lengths(literals(false, 1<<40), nil)}, list, errs.Corruption, "too long"},
		{"decimal", testFile{types: [][]byte{typ(kindDecimal, pbNum(5, 5), pbNum(6, 1))}, rows: 1, streams: []testStream{{streamData, 1, []byte(strings.Repeat("\xff", 20))}, {streamSecondary, 1, literals(true, 1)}}},
			catalog.TDecimal(5, 1), errs.Corruption, "precision"},
		{"inexact decimal", testFile{types: [][]byte{typ(kindDecimal, pbNum(5, 5), pbNum(6, 1))}, rows: 1, streams: []testStream{{streamData, 1, binary.AppendVarint(nil, 125)}, {streamSecondary, 1, literals(true, 2)}}},
			catalog.TDecimal(5, 1), errs.Corruption, "digits after the point"},
		{"two streams", testFile{types: [][]byte{typ(kindInt)}, rows: 1, streams: append(data(literals(true, 5)...), data(literals(true, 5)...)...)}, catalog.TInt, errs.Corruption, "two streams"},
		{"null rows", testFile{types: [][]byte{typ(kindInt)}, rows: 1, streams: append(data(literals(true, 5)...), testStream{streamPresent, 0, []byte{0xff, 0x80}})}, catalog.TInt, errs.Unsupported, "NULL rows"},
	} {
		rows, err := readK(t, c.file, c.typ)
		if errs.ClassOf(err) != c.class || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, class %s, %v; want %s with %q", c.name, rows, errs.ClassOf(err), err, c.class, c.text)
		}
	}
}

// TestDecimalScale reads decimals of which older writers dropped the zeros.
func TestDecimalScale(t *testing.T) {
	f := testFile{types: [][]byte{typ(kindDecimal, pbNum(5, 20), pbNum(6, 3))}, rows: 3,
		streams: []testStream{{streamData, 1, join(binary.AppendVarint(nil, 15), binary.AppendVarint(nil, -120000), binary.AppendVarint(nil, 7))}, {streamSecondary, 1, literals(true, 1, 5, 3)}}}
	rows, err := readK(t, f, catalog.TDecimal(20, 3))
	if err != nil || strings.Join(rows, "") != `["1.500"]["-1.200"]["0.007"]` {
		t.Error(rows, err)
	}
}

// TestChar checks that CHAR loses its blanks, in dictionaries too, whose words
// may then be equal.
func TestChar(t *testing.T) {
	f := testFile{types: [][]byte{typ(kindChar, pbNum(4, 3))}, rows: 3, encodings: [][2]uint64{{encDictionary, 2}},
		streams: []testStream{{streamLength, 1, literals(false, 1, 3)}, {streamData, 1, literals(false, 0, 1, 0)}, {streamDictionary, 1, []byte("aa  ")}}}
	rows, err := readK(t, f, catalog.Type{Kind: catalog.Char, Length: 3})
	if err != nil || strings.Join(rows, "") != `["a"]["a"]["a"]` {
		t.Error(rows, err)
	}
}

// TestClock reads timestamps of zones and calendars. The file holds what a Java
// writer in the zone stores for the wall clock.
func TestClock(t *testing.T) {
	ltz, wall := catalog.TTimestampLTZ(6), catalog.TTimestamp(6)
	base := func(zone string) int64 {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(2015, 1, 1, 0, 0, 0, 0, loc).Unix()
	}
	for _, c := range []struct {
		name  string
		kind  kind
		typ   catalog.Type
		zone  string
		unix  int64 // of the stored instant
		nanos int64 // as stored
		more  []byte
		want  string
	}{
		{"UTC", kindTimestamp, wall, "UTC", 1709208000, 123000 << 3, nil, "2024-02-29 12:00:00.000123"},
		{"zeros", kindTimestamp, wall, "UTC", 0, 5<<3 | 7, nil, "1970-01-01 00:00:00.500000"},
		{"before 1970", kindTimestamp, wall, "UTC", -1, 5<<3 | 7, nil, "1969-12-31 23:59:58.500000"},
		{"last second before 1970", kindTimestamp, wall, "UTC", 0, 999<<3 | 5, nil, "1970-01-01 00:00:00.999000"},
		{"zone", kindTimestamp, wall, "Asia/Shanghai", 1709208000, 0, nil, "2024-02-29 20:00:00.000000"},
		{"summer time", kindTimestamp, wall, "Europe/Berlin", 1719828000, 0, nil, "2024-07-01 12:00:00.000000"},
		{"winter time", kindTimestamp, wall, "Europe/Berlin", 1704106800, 0, nil, "2024-01-01 12:00:00.000000"},
		{"first Gregorian day", kindTimestamp, wall, "UTC", -12219292800, 0, nil, "1582-10-15 00:00:00.000000"},
		{"last Julian second", kindTimestamp, wall, "UTC", -12219292801, 0, nil, "1582-10-04 23:59:59.000000"},
		{"year 1", kindTimestamp, wall, "UTC", -62135769600, 0, nil, "0001-01-01 00:00:00.000000"},
		{"proleptic", kindTimestamp, wall, "UTC", -12219292801, 0, pbNum(11, 2), "1582-10-14 23:59:59.000000"},
		{"instant", kindInstant, ltz, "UTC", 1709208000, 0, nil, "2024-02-29 12:00:00.000000Z"},
		{"old LTZ", kindTimestamp, ltz, "Asia/Shanghai", 1709208000, 0, nil, "2024-02-29 20:00:00.000000Z"},
		{"instant of a zone", kindInstant, ltz, "Asia/Shanghai", 1709208000, 0, nil, `unsupported: "Asia/Shanghai"`},
		{"instant without a zone", kindInstant, ltz, "", 1709208000, 0, nil, "unsupported: not recorded"},
		{"early instant", kindInstant, ltz, "UTC", -12219292801, 0, nil, "unsupported: before 1582"},
		{"early zone", kindTimestamp, wall, "Asia/Shanghai", -2208988801, 0, nil, "unsupported: before 1900"},
		{"no zone", kindTimestamp, wall, "", 0, 0, nil, "unsupported: not recorded"},
		{"unknown zone", kindTimestamp, wall, "Mars/Olympus", 0, 0, nil, "unsupported: Mars"},
		{"year 0", kindTimestamp, wall, "UTC", -62135769601, 0, nil, "unsupported: year 1"},
		{"nanoseconds", kindTimestamp, wall, "UTC", 0, 123 << 3, nil, "unsupported: nanoseconds"},
		{"too many nanoseconds", kindTimestamp, wall, "UTC", 0, 1_000_000_000 << 3, nil, "corruption: nanoseconds"},
		{"far", kindTimestamp, wall, "UTC", 1 << 60, 0, nil, "corruption: range"},
	} {
		b := int64(epoch2015)
		if c.kind == kindTimestamp && c.zone != "" && c.zone[0] != 'M' {
			b = base(c.zone)
		}
		f := testFile{types: [][]byte{typ(c.kind)}, rows: 1, zone: c.zone, footer: c.more,
			streams: []testStream{{streamData, 1, literals(true, c.unix-b)}, {streamSecondary, 1, literals(false, c.nanos)}}}
		rows, err := readK(t, f, c.typ)
		got := strings.Join(rows, "")
		if class, text, ok := strings.Cut(c.want, ": "); ok {
			if err == nil || errs.ClassOf(err).String() != class || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %s, %v", c.name, got, err)
			}
		} else if err != nil || got != `["`+c.want+`"]` {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	// With the option, the zone does not matter.
	f := testFile{types: [][]byte{typ(kindInstant)}, rows: 1, zone: "Asia/Shanghai",
		streams: []testStream{{streamData, 1, literals(true, 1709208000-epoch2015)}, {streamSecondary, 1, literals(false, 0)}}}
	rows, err := read(t, f.build(), format.ReadOptions{Columns: []format.Column{{Name: "k", Type: ltz}}, Properties: map[string]string{legacyInstants: "false"}})
	if err != nil || strings.Join(rows, "") != `["2024-02-29 12:00:00.000000Z"]` {
		t.Errorf("%s, %v", rows, err)
	}
}

// TestColumns asks for columns twice, for missing ones and for none.
func TestColumns(t *testing.T) {
	f := testFile{types: [][]byte{typ(kindInt)}, rows: 2, streams: []testStream{{streamData, 1, literals(true, 5, -6)}}}
	k := format.Column{Name: "k", Type: catalog.TInt}
	if rows, err := read(t, f.build(), format.ReadOptions{Columns: []format.Column{k, k}}); err != nil || strings.Join(rows, "") != "[5,5][-6,-6]" {
		t.Error(rows, err)
	}
	if rows, err := read(t, f.build(), format.ReadOptions{Columns: []format.Column{}}); err != nil || len(rows) != 2 {
		t.Error(rows, err)
	}
	other := format.Column{Name: "other", Type: catalog.TString}
	if _, err := read(t, f.build(), format.ReadOptions{Columns: []format.Column{other}}); errs.ClassOf(err) != errs.Corruption {
		t.Error(err)
	}
	r, err := Format{}.NewReader(ctx, open(t, f.build()), format.ReadOptions{Path: path, Columns: []format.Column{other}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := r.Next(ctx); err != nil || b.Len != 2 || b.Cols[0].NullCount() != 2 {
		t.Error(b, err)
	}
}

// TestPruning reads a file of several stripes with filters of every value in it:
// no row that satisfies one may be missing.
func TestPruning(t *testing.T) {
	pruned := 0
	walk(t, testkit.Shared(t, "fixtures/paimon-java/append_with_bitmap_multi_stripes.db"), func(p string, data []byte) {
		f := open(t, data)
		defer f.Close()
		d, err := Format{}.Describe(ctx, f, path)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.RowGroups) < 2 {
			t.Fatalf("%s has %d stripes", p, len(d.RowGroups))
		}
		rows := func(o format.ReadOptions) []*vector.Batch {
			o.Path, o.Columns = path, d.Columns
			r, err := Format{}.NewReader(ctx, open(t, data), o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var out []*vector.Batch
			for {
				b, err := r.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					return out
				}
				c := b.Clone()
				c.Seq = b.Seq
				out = append(out, c)
			}
		}
		all := rows(format.ReadOptions{})
		for col, c := range d.Columns {
			for _, b := range all {
				for i := 0; i < b.Len; i += 1 + b.Len/20 {
					v := vector.New(c.Type.Physical(), 1)
					p := &connector.Predicate{Op: connector.IsNull}
					if !b.Cols[col].IsNull(i) {
						v.AppendFrom(b.Cols[col], i)
						p = &connector.Predicate{Op: connector.Eq, Value: v}
					}
					got, found := 0, false
					for _, g := range rows(format.ReadOptions{Filter: p, FilterColumns: []format.Column{c}}) {
						got += g.Len
						if at := b.Seq + int64(i) - g.Seq; at >= 0 && at < int64(g.Len) {
							found = vector.Compare(g.Cols[col], int(at), b.Cols[col], i) == 0
						}
					}
					if !found {
						t.Fatalf("column %q: a filter of row %d lost it", c.Name, b.Seq+int64(i))
					}
					if int64(got) < d.Rows {
						pruned++
					}
				}
			}
		}
	})
	if pruned == 0 {
		t.Error("nothing was pruned")
	}
}

// TestBounds checks which statistics are believed.
func TestBounds(t *testing.T) {
	n := func(k kind) *node { return &node{protoType: protoType{kind: k}} }
	whole := columnStats{known: true, values: 10, has: [2]bool{true, true}, min: -3, max: 1 << 33, strings: [2]bool{true, true}, low: []byte("a"), high: []byte("b")}
	cut, none, nulls := whole, whole, whole
	cut.cut = true
	none.known = false
	nulls.hasNull = true
	for _, c := range []struct {
		name  string
		s     columnStats
		n     *node
		t     catalog.Type
		nulls int64
		ok    bool
	}{
		{"bigint", whole, n(kindLong), catalog.TBigInt, 0, true},
		{"int beyond its range", whole, n(kindInt), catalog.TInt, 0, false},
		{"double", whole, n(kindDouble), catalog.TDouble, 0, false},
		{"char", whole, n(kindChar), catalog.Type{Kind: catalog.Char, Length: 3}, 0, false},
		{"string", whole, n(kindString), catalog.TString, 0, true},
		{"cut string", cut, n(kindString), catalog.TString, 0, false},
		{"other type", whole, n(kindString), catalog.TBigInt, -1, false},
		{"none", none, n(kindLong), catalog.TBigInt, -1, false},
		{"contradicting nulls", nulls, n(kindLong), catalog.TBigInt, -1, true},
		{"missing column", whole, nil, catalog.TBigInt, 10, false},
	} {
		b := c.s.bounds(c.n, c.t, 10)
		if b.Nulls != c.nulls || (b.Min != nil) != c.ok {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
}
