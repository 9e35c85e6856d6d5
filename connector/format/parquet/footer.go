package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

// Physical types, as parquet.thrift numbers them.
const (
	physBoolean = iota
	physInt32
	physInt64
	physInt96
	physFloat
	physDouble
	physBytes
	physFixed
)

var physNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

// Repetitions.
const (
	required = iota
	optional
	repeated
)

// Members of the LogicalType union.
const (
	logString    = 1
	logMap       = 2
	logList      = 3
	logEnum      = 4
	logDecimal   = 5
	logDate      = 6
	logTime      = 7
	logTimestamp = 8
	logInteger   = 10
	logJSON      = 12
	logBSON      = 13
	logUUID      = 14
	logFloat16   = 15
	logVariant   = 16
)

// Units of TIME and TIMESTAMP.
const (
	unitMillis = 1
	unitMicros = 2
	unitNanos  = 3
)

// element is a SchemaElement. Converted types are folded into the logical ones.
type element struct {
	name       string
	phys       int32 // -1: a group
	length     int32
	repetition int32
	children   int32
	id         int // -1: none
	converted  int32
	logical    int16 // 0: none
	precision  int32
	scale      int32
	unit       int16
	utc        bool
	width      int8
	signed     bool
}

// chunkStats are a chunk's statistics as stored.
type chunkStats struct {
	min, max       []byte // nil: absent
	nulls          int64  // -1: absent
	legacyMin      []byte // the deprecated fields, of undefined order for some types
	legacyMax      []byte
	hasMin, hasMax bool
}

// chunk is the metadata of one column in one row group.
type chunk struct {
	phys          int32
	codec         int32
	values        int64
	uncompressed  int64
	compressed    int64
	start         int64 // of the first page, dictionary included
	stats         *chunkStats
	path          string // "": in this file
	encrypted     bool
	hasMeta       bool
	dataOffset    int64
	dictOffset    int64
	hasDictOffset bool
	offsetIndex   span // of length 0: none
	columnIndex   span
}

type rowGroup struct {
	rows   int64
	chunks []chunk
	start  int64 // of the first chunk in the file
	bytes  int64 // of all chunks, compressed
}

// footer is a parsed FileMetaData.
type footer struct {
	elements   []element
	rows       int64
	groups     []rowGroup
	createdBy  string
	typeOrders []bool // a leaf's statistics have the order of its type
	encrypted  bool
}

// file is an open Parquet file.
type file struct {
	f      fileio.File
	path   string
	budget *memory.Budget
	held   int64
	meta   *footer
	fields []*node // top-level columns
	leaves int
	pages  format.Pages // nil: none are kept
}

const magic = "PAR1"

// parsed is what is kept of a file in format.Metadata. Nothing in it changes.
type parsed struct {
	size   int64
	meta   *footer
	fields []*node
	leaves int
}

// openFile reads and checks the footer, or takes it from kept, which has it for
// the next reader too. Memory is charged to budget until release.
func openFile(f fileio.File, path string, budget *memory.Budget, kept format.Metadata) (*file, error) {
	size := f.Size()
	if kept != nil {
		if p, ok := kept.Load(path).(*parsed); ok && p.size == size {
			return &file{f: f, path: path, budget: budget, meta: p.meta, fields: p.fields, leaves: p.leaves}, nil
		}
	}
	bad := func(format string, args ...any) error {
		return errs.Corruptf("read %s: "+format, append([]any{path}, args...)...)
	}
	if size < 12 {
		return nil, bad("not a Parquet file: it has %d bytes", size)
	}
	var tail [8]byte
	if err := readFull(f, tail[:], size-8); err != nil {
		return nil, format.ReadError(path, err)
	}
	switch string(tail[4:]) {
	case magic:
	case "PARE":
		return nil, errs.Unsupportedf(-1, "encrypted Parquet files (%s)", path)
	default:
		return nil, bad("not a Parquet file, or cut off: it does not end in %s", magic)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > size-12 {
		return nil, bad("the Parquet footer of %d bytes does not fit in the file's %d", n, size)
	}
	pf := &file{f: f, path: path, budget: budget}
	// The parsed footer takes a small multiple of its bytes.
	if err := pf.charge(4 * n); err != nil {
		return nil, err
	}
	buf := make([]byte, n)
	if err := readFull(f, buf, size-8-n); err != nil {
		pf.release()
		return nil, format.ReadError(path, err)
	}
	m, err := parseFooter(buf)
	if err == nil {
		pf.meta = m
		err = pf.buildSchema()
	}
	if err == nil {
		err = pf.checkGroups(size)
	}
	if err != nil {
		pf.release()
		return nil, corrupt(path, err)
	}
	if kept != nil {
		kept.Store(path, &parsed{size, pf.meta, pf.fields, pf.leaves}, 4*n+256)
	}
	return pf, nil
}

func (pf *file) charge(n int64) error {
	if err := pf.budget.Reserve(n); err != nil {
		return err
	}
	pf.held += n
	return nil
}

func (pf *file) release() {
	pf.budget.Release(pf.held)
	pf.held = 0
}

// readFull reads len(b) bytes at off.
func readFull(f fileio.File, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil {
		err = errors.New("short read")
	}
	return err
}

// checkGroups checks that every row group has a chunk a leaf, within the file.
func (pf *file) checkGroups(size int64) error {
	total := int64(0)
	for g := range pf.meta.groups {
		rg := &pf.meta.groups[g]
		if len(rg.chunks) != pf.leaves {
			return fmt.Errorf("row group %d has %d columns, the schema %d", g, len(rg.chunks), pf.leaves)
		}
		if rg.rows < 0 || total > 1<<62-rg.rows {
			return fmt.Errorf("row group %d has %d rows", g, rg.rows)
		}
		total += rg.rows
		for c := range rg.chunks {
			k := &rg.chunks[c]
			if k.encrypted {
				return errs.Unsupportedf(-1, "encrypted Parquet columns (%s)", pf.path)
			}
			if !k.hasMeta {
				return fmt.Errorf("column %d of row group %d has no metadata", c, g)
			}
			if k.path != "" {
				return errs.Unsupportedf(-1, "Parquet columns in other files (%s)", pf.path)
			}
			k.start = k.dataOffset
			if k.hasDictOffset && k.dictOffset > 0 && k.dictOffset < k.start {
				k.start = k.dictOffset
			}
			if k.values < 0 || k.compressed < 0 || k.start < 4 && k.values > 0 || k.start > size || k.compressed > size-k.start {
				return fmt.Errorf("column %d of row group %d lies outside the file", c, g)
			}
			if c == 0 || k.start < rg.start {
				rg.start = k.start
			}
			rg.bytes += k.compressed
		}
	}
	if total != pf.meta.rows {
		return fmt.Errorf("the footer counts %d rows, its row groups %d", pf.meta.rows, total)
	}
	return nil
}

// parseFooter reads a FileMetaData.
func parseFooter(b []byte) (*footer, error) {
	m := &footer{rows: -1}
	r := &thriftReader{b: b}
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 2 && typ == tList:
			return r.list(func() error {
				e, err := parseElement(r)
				m.elements = append(m.elements, e)
				return err
			})
		case id == 3 && typ == tI64:
			m.rows, err = r.int()
		case id == 4 && typ == tList:
			return r.list(func() error {
				g, err := parseRowGroup(r)
				m.groups = append(m.groups, g)
				return err
			})
		case id == 6 && typ == tBinary:
			var s []byte
			s, err = r.bytes()
			m.createdBy = string(s)
		case id == 7 && typ == tList:
			return r.list(func() error {
				defined := false
				err := r.fields(func(id int16, typ byte) error {
					defined = defined || id == 1
					return r.skip(typ, 1)
				})
				m.typeOrders = append(m.typeOrders, defined)
				return err
			})
		case id == 8:
			m.encrypted = true
			err = r.skip(typ, 1)
		default:
			err = r.skip(typ, 1)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	if len(m.elements) == 0 || m.rows < 0 {
		return nil, errors.New("footer: it has no schema")
	}
	return m, nil
}

func parseElement(r *thriftReader) (element, error) {
	e := element{phys: -1, id: -1, converted: -1}
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == tI32:
			e.phys, err = r.int32()
		case id == 2 && typ == tI32:
			e.length, err = r.int32()
		case id == 3 && typ == tI32:
			e.repetition, err = r.int32()
		case id == 4 && typ == tBinary:
			var s []byte
			s, err = r.bytes()
			e.name = string(s)
		case id == 5 && typ == tI32:
			e.children, err = r.int32()
		case id == 6 && typ == tI32:
			e.converted, err = r.int32()
		case id == 7 && typ == tI32:
			e.scale, err = r.int32()
		case id == 8 && typ == tI32:
			e.precision, err = r.int32()
		case id == 9 && typ == tI32:
			var x int32
			x, err = r.int32()
			e.id = int(x)
		case id == 10 && typ == tStruct:
			err = parseLogical(r, &e)
		default:
			err = r.skip(typ, 1)
		}
		return err
	})
	if err != nil {
		return e, err
	}
	if e.phys > physFixed || e.repetition < required || e.repetition > repeated || e.length < 0 || e.children < 0 {
		return e, fmt.Errorf("column %q has an unknown type", e.name)
	}
	if e.logical == 0 {
		e.foldConverted()
	}
	return e, nil
}

// foldConverted sets the logical type from the older converted type.
func (e *element) foldConverted() {
	integer := func(width int8, signed bool) { e.logical, e.width, e.signed = logInteger, width, signed }
	switch e.converted {
	case 0:
		e.logical = logString
	case 1, 2:
		e.logical = logMap
	case 3:
		e.logical = logList
	case 4:
		e.logical = logEnum
	case 5:
		e.logical = logDecimal
	case 6:
		e.logical = logDate
	case 7:
		e.logical, e.unit, e.utc = logTime, unitMillis, true
	case 8:
		e.logical, e.unit, e.utc = logTime, unitMicros, true
	case 9:
		e.logical, e.unit, e.utc = logTimestamp, unitMillis, true
	case 10:
		e.logical, e.unit, e.utc = logTimestamp, unitMicros, true
	case 11, 12, 13, 14:
		integer(8<<(e.converted-11), false)
	case 15, 16, 17, 18:
		integer(8<<(e.converted-15), true)
	case 19:
		e.logical = logJSON
	case 20:
		e.logical = logBSON
	}
}

func parseLogical(r *thriftReader, e *element) error {
	return r.fields(func(member int16, typ byte) error {
		if typ != tStruct {
			return r.skip(typ, 1)
		}
		e.logical = member
		return r.fields(func(id int16, typ byte) (err error) {
			switch {
			case member == logDecimal && id == 1 && typ == tI32:
				e.scale, err = r.int32()
			case member == logDecimal && id == 2 && typ == tI32:
				e.precision, err = r.int32()
			case (member == logTime || member == logTimestamp) && id == 1:
				e.utc = typ == tTrue
				err = r.skip(typ, 1)
			case (member == logTime || member == logTimestamp) && id == 2 && typ == tStruct:
				err = r.fields(func(id int16, typ byte) error {
					e.unit = id
					return r.skip(typ, 1)
				})
			case member == logInteger && id == 1 && typ == tByte:
				var c byte
				c, err = r.byte()
				e.width = int8(c)
			case member == logInteger && id == 2:
				e.signed = typ == tTrue
				err = r.skip(typ, 1)
			default:
				err = r.skip(typ, 1)
			}
			return err
		})
	})
}

func parseRowGroup(r *thriftReader) (rowGroup, error) {
	g := rowGroup{rows: -1}
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == tList:
			return r.list(func() error {
				c, err := parseChunk(r)
				g.chunks = append(g.chunks, c)
				return err
			})
		case id == 3 && typ == tI64:
			g.rows, err = r.int()
		default:
			err = r.skip(typ, 1)
		}
		return err
	})
	return g, err
}

func parseChunk(r *thriftReader) (chunk, error) {
	var c chunk
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == tBinary:
			var s []byte
			s, err = r.bytes()
			c.path = string(s)
		case id == 3 && typ == tStruct:
			c.hasMeta = true
			err = parseChunkMeta(r, &c)
		case id == 4 && typ == tI64:
			c.offsetIndex.offset, err = r.int()
		case id == 5 && typ == tI32:
			c.offsetIndex.length, err = r.int32As64()
		case id == 6 && typ == tI64:
			c.columnIndex.offset, err = r.int()
		case id == 7 && typ == tI32:
			c.columnIndex.length, err = r.int32As64()
		case id == 8 || id == 9:
			c.encrypted = true
			err = r.skip(typ, 1)
		default:
			err = r.skip(typ, 1)
		}
		return err
	})
	return c, err
}

func parseChunkMeta(r *thriftReader, c *chunk) error {
	return r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == tI32:
			c.phys, err = r.int32()
		case id == 4 && typ == tI32:
			c.codec, err = r.int32()
		case id == 5 && typ == tI64:
			c.values, err = r.int()
		case id == 6 && typ == tI64:
			c.uncompressed, err = r.int()
		case id == 7 && typ == tI64:
			c.compressed, err = r.int()
		case id == 9 && typ == tI64:
			c.dataOffset, err = r.int()
		case id == 11 && typ == tI64:
			c.dictOffset, err = r.int()
			c.hasDictOffset = true
		case id == 12 && typ == tStruct:
			c.stats, err = parseStats(r)
		default:
			err = r.skip(typ, 1)
		}
		return err
	})
}

func parseStats(r *thriftReader) (*chunkStats, error) {
	s := &chunkStats{nulls: -1}
	err := r.fields(func(id int16, typ byte) (err error) {
		switch {
		case id == 1 && typ == tBinary:
			s.legacyMax, err = r.bytes()
		case id == 2 && typ == tBinary:
			s.legacyMin, err = r.bytes()
		case id == 3 && typ == tI64:
			s.nulls, err = r.int()
		case id == 5 && typ == tBinary:
			s.max, err = r.bytes()
			s.hasMax = true
		case id == 6 && typ == tBinary:
			s.min, err = r.bytes()
			s.hasMin = true
		default:
			err = r.skip(typ, 1)
		}
		return err
	})
	return s, err
}
