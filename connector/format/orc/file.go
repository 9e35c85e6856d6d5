package orc

import (
	"errors"
	"fmt"
	"io"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
)

const magic = "ORC"

// Limits.
const (
	// maxTail bounds the footer and the stripe statistics uncompressed.
	maxTail = 256 << 20
	// maxChunk bounds a compression chunk: a chunk's header has 23 bits of length.
	maxChunk = 1 << 23
	// tailBytes is read at once from the file's end.
	tailBytes = 16 << 10
	// What a parsed stripe and type take in memory.
	stripeBytes, typeBytes = 80, 400
)

// file is an open ORC file.
type file struct {
	f      fileio.File
	path   string
	budget *memory.Budget
	held   int64

	compression   codec
	chunk         int64 // the most bytes of a chunk uncompressed
	writerVersion int64
	metadata      section // stripe statistics
	rows          int64
	stripes       []stripe
	types         []protoType
	root          *node
	writer        int64 // who wrote the file
	software      string
	proleptic     bool // timestamps before 1582-10-15 are Gregorian
	inflate       io.ReadCloser
	instants      bool // instants are stored as they are, whatever the writer's zone
}

// section is a range of a file.
type section struct{ off, size int64 }

// stripe is where a stripe lies.
type stripe struct{ off, index, data, footer, rows int64 }

// protoType is a Type message.
type protoType struct {
	kind       kind
	kids       []uint64
	names      []string
	length     int64
	precision  int64
	scale      int64
	attributes map[string]string
}

// parsed is what is kept of a file in format.Metadata: the file as it was parsed,
// of which nothing changes.
type parsed struct {
	size int64
	file file
}

// openFile reads and checks the tail, or takes it from kept, which has it for the
// next reader too. Memory is charged to budget until release.
func openFile(f fileio.File, path string, budget *memory.Budget, kept format.Metadata) (*file, error) {
	if kept != nil {
		if p, ok := kept.Load(path).(*parsed); ok && p.size == f.Size() {
			of := p.file
			of.f, of.budget = f, budget
			return &of, nil
		}
	}
	of := &file{f: f, path: path, budget: budget}
	if err := of.open(); err != nil {
		of.release()
		return nil, err
	}
	if kept != nil {
		p := &parsed{f.Size(), *of}
		p.file.f, p.file.budget, p.file.held, p.file.inflate = nil, nil, 0, nil
		kept.Store(path, p, of.held)
	}
	return of, nil
}

func (of *file) charge(n int64) error {
	if err := of.budget.Reserve(n); err != nil {
		return err
	}
	of.held += n
	return nil
}

// refund gives back part of what was charged.
func (of *file) refund(n int64) {
	of.budget.Release(n)
	of.held -= n
}

func (of *file) release() {
	of.budget.Release(of.held)
	of.held = 0
}

func (of *file) open() error {
	size := of.f.Size()
	if size < int64(len(magic))+2 {
		return fmt.Errorf("not an ORC file: it has %d bytes", size)
	}
	n := min(size, tailBytes)
	if err := of.charge(n); err != nil {
		return err
	}
	tail := make([]byte, n)
	if err := format.ReadFull(of.f, of.path, tail, size-n); err != nil {
		return err
	}
	psLen := int64(tail[n-1])
	if psLen+1 > n {
		return fmt.Errorf("the postscript of %d bytes is longer than the file", psLen)
	}
	ps := tail[n-1-psLen : n-1]
	var footer section
	if err := of.postscript(ps, &footer); err != nil {
		return err
	}
	end := size - 1 - psLen
	if footer.size > end || of.metadata.size > end-footer.size {
		return fmt.Errorf("the footer of %d and the statistics of %d bytes do not fit in the file's %d", footer.size, of.metadata.size, size)
	}
	footer.off = end - footer.size
	of.metadata.off = footer.off - of.metadata.size
	raw := tail
	if from := footer.off - (size - n); from >= 0 {
		raw = tail[from : from+footer.size]
	} else {
		if err := of.charge(footer.size); err != nil {
			return err
		}
		raw = make([]byte, footer.size)
		if err := format.ReadFull(of.f, of.path, raw, footer.off); err != nil {
			return err
		}
	}
	msg, err := of.expand(raw)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	// The parsed footer takes a small multiple of its bytes.
	if err := of.charge(4 * int64(len(msg))); err != nil {
		return err
	}
	if err := of.parseFooter(msg); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return of.check()
}

func (of *file) postscript(b []byte, footer *section) error {
	var version []uint64
	var kind, chunk int64
	ok := false
	err := fields(b, func(id uint64, v value) (err error) {
		switch id {
		case 1:
			err = set(&footer.size, v)
		case 2:
			err = set(&kind, v)
		case 3:
			err = set(&chunk, v)
		case 4:
			version, err = numbers(version, v)
		case 5:
			err = set(&of.metadata.size, v)
		case 6:
			err = set(&of.writerVersion, v)
		case 8000:
			ok = string(v.bytes) == magic
		}
		return err
	})
	if err != nil || !ok {
		return errors.New("not an ORC file, or cut off: it does not end in a postscript")
	}
	if len(version) > 0 && (version[0] != 0 || len(version) > 1 && version[1] > 12) {
		return errs.Unsupportedf(-1, "ORC files of version %d (%s)", version, of.path)
	}
	of.compression = codec(kind)
	switch of.compression {
	case codecNone, codecZlib, codecSnappy, codecLZ4, codecZstd:
	default:
		return errs.Unsupportedf(-1, "the ORC codec %s (%s)", of.compression, of.path)
	}
	if chunk > maxChunk {
		return errs.Unsupportedf(-1, "ORC compression chunks of more than 8 MiB (%s)", of.path)
	}
	if of.chunk = chunk; chunk == 0 {
		of.chunk = 256 << 10
	}
	return nil
}

func (of *file) parseFooter(b []byte) error {
	of.rows = -1
	return fields(b, func(id uint64, v value) (err error) {
		switch id {
		case 3:
			var s stripe
			if s, err = parseStripe(v); err == nil {
				err = of.charge(stripeBytes)
			}
			of.stripes = append(of.stripes, s)
		case 4:
			var t protoType
			if t, err = parseType(v); err == nil {
				err = of.charge(typeBytes)
			}
			of.types = append(of.types, t)
		case 6:
			err = set(&of.rows, v)
		case 9:
			err = set(&of.writer, v)
		case 10:
			return errs.Unsupportedf(-1, "encrypted ORC files (%s)", of.path)
		case 11:
			of.proleptic = v.num == 2
		case 12:
			of.software = string(v.bytes)
		}
		return err
	})
}

func parseStripe(v value) (s stripe, err error) {
	b, err := v.message()
	if err != nil {
		return s, err
	}
	err = fields(b, func(id uint64, v value) error {
		switch id {
		case 1:
			return set(&s.off, v)
		case 2:
			return set(&s.index, v)
		case 3:
			return set(&s.data, v)
		case 4:
			return set(&s.footer, v)
		case 5:
			return set(&s.rows, v)
		}
		return nil
	})
	return s, err
}

func parseType(v value) (t protoType, err error) {
	b, err := v.message()
	if err != nil {
		return t, err
	}
	err = fields(b, func(id uint64, v value) (err error) {
		switch id {
		case 1:
			t.kind = kind(min(v.num, 255))
		case 2:
			t.kids, err = numbers(t.kids, v)
		case 3:
			var name []byte
			name, err = v.message()
			t.names = append(t.names, string(name))
		case 4:
			err = set(&t.length, v)
		case 5:
			err = set(&t.precision, v)
		case 6:
			err = set(&t.scale, v)
		case 7:
			var pair [2]string
			if err = fields(v.bytes, func(id uint64, v value) error {
				if id == 1 || id == 2 {
					pair[id-1] = string(v.bytes)
				}
				return nil
			}); err == nil {
				if t.attributes == nil {
					t.attributes = map[string]string{}
				}
				t.attributes[pair[0]] = pair[1]
			}
		}
		return err
	})
	return t, err
}

// check checks that stripes lie in the file, hold its rows, and that the types
// are a tree.
func (of *file) check() error {
	total := int64(0)
	for i, s := range of.stripes {
		limit := of.metadata.off
		for _, n := range []int64{s.off, s.index, s.data, s.footer} {
			if n > limit {
				return fmt.Errorf("stripe %d lies outside the file", i)
			}
			limit -= n
		}
		if s.rows > 1<<62-total {
			return fmt.Errorf("stripe %d has %d rows", i, s.rows)
		}
		total += s.rows
	}
	if total != of.rows {
		return fmt.Errorf("the footer counts %d rows, its stripes %d", of.rows, total)
	}
	root, err := of.tree()
	if err != nil {
		return err
	}
	of.root = root
	return nil
}

// creator names the writer.
func (of *file) creator() string {
	names := []string{"ORC Java", "ORC C++", "Presto", "Scritchley Go", "Trino", "CUDF"}
	name := fmt.Sprintf("writer %d", of.writer)
	if of.writer < int64(len(names)) {
		name = names[of.writer]
	}
	if of.software != "" {
		name += " " + of.software
	}
	return name
}

// stripeFooter is what a stripe says of its streams.
type stripeFooter struct {
	streams   map[streamKey]section
	encodings []encoding
	zone      string // of the writer, "" when it is not recorded
}

// streamKey names a stream within a stripe.
type streamKey struct {
	column int
	kind   streamKind
}

// encoding is how a column is encoded.
type encoding struct {
	kind int64
	dict int64 // entries of the dictionary
}

// Column encodings.
const (
	encDirect = iota
	encDictionary
	encDirectV2
	encDictionaryV2
)

// stripeFooter reads a stripe's footer. loaded are the stripe's bytes from its
// data on, if they have been read.
func (of *file) stripeFooter(s stripe, loaded []byte) (*stripeFooter, error) {
	before := of.held
	defer func() { of.refund(of.held - before) }()
	var raw []byte
	if loaded != nil {
		raw = loaded[s.data:]
	} else {
		if err := of.charge(s.footer); err != nil {
			return nil, err
		}
		raw = make([]byte, s.footer)
		if err := format.ReadFull(of.f, of.path, raw, s.off+s.index+s.data); err != nil {
			return nil, err
		}
	}
	msg, err := of.expand(raw)
	if err != nil {
		return nil, fmt.Errorf("stripe footer: %w", err)
	}
	sf := &stripeFooter{streams: map[streamKey]section{}}
	at, end := s.off, s.off+s.index+s.data
	err = fields(msg, func(id uint64, v value) error {
		switch id {
		case 1:
			var kind, column, size int64
			err := fields(v.bytes, func(id uint64, v value) error {
				switch id {
				case 1:
					return set(&kind, v)
				case 2:
					return set(&column, v)
				case 3:
					return set(&size, v)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if size > end-at {
				return errors.New("its streams are longer than the stripe")
			}
			if column < int64(len(of.types)) && kind <= int64(streamSecondary) {
				key := streamKey{int(column), streamKind(kind)}
				if _, ok := sf.streams[key]; ok {
					return fmt.Errorf("it has two streams of kind %d for column %d", kind, column)
				}
				sf.streams[key] = section{at, size}
			}
			at += size
		case 2:
			var e encoding
			err := fields(v.bytes, func(id uint64, v value) error {
				switch id {
				case 1:
					return set(&e.kind, v)
				case 2:
					return set(&e.dict, v)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if len(sf.encodings) == len(of.types) {
				return fmt.Errorf("it has encodings of more than %d columns", len(of.types))
			}
			sf.encodings = append(sf.encodings, e)
		case 3:
			sf.zone = string(v.bytes)
		case 4:
			return errs.Unsupportedf(-1, "encrypted ORC files (%s)", of.path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stripe footer: %w", err)
	}
	if len(sf.encodings) != len(of.types) {
		return nil, fmt.Errorf("stripe footer: %d encodings of %d columns", len(sf.encodings), len(of.types))
	}
	return sf, nil
}
