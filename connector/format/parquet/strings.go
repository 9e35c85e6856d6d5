package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/thermocline/thermocline/internal/vector"
)

func mulU64(x, y uint64) (hi, lo uint64) { return bits.Mul64(x, y) }

// stringDecoder decodes byte arrays into views of the page's or dictionary's
// bytes, which are therefore never overwritten.
type stringDecoder struct {
	fixed   int // FIXED_LEN_BYTE_ARRAY: the length
	charge  func(int64) error
	words   *vector.Vec
	mode    int
	buf     []byte // what views point into: the page's bytes
	pos     int    // in buf
	slot    int    // position of buf in the vector's Bufs, -1: not there yet
	wordsAt int    // position of the dictionary's first buffer in Bufs, -1: not there yet
	codes   hybrid
	code    []uint32
	lengths []int64
	ints    []int64
}

func (d *stringDecoder) begin()      { d.slot, d.wordsAt = -1, -1 }
func (d *stringDecoder) views() bool { return true }

func (d *stringDecoder) reset() {
	d.words, d.mode, d.buf = nil, modeNone, nil
}

func (d *stringDecoder) dict(data []byte, n int) error {
	if d.fixed == 0 && n > len(data)/4 || d.fixed > 0 && n > len(data)/d.fixed {
		return fmt.Errorf("a dictionary of %d values in %d bytes", n, len(data))
	}
	w := vector.New(vector.Str, n)
	w.Bufs = [][]byte{data}
	for pos := 0; w.Len < n; {
		size, err := d.length(data, &pos)
		if err != nil {
			return err
		}
		w.Views = append(w.Views, vector.View{})
		w.SetView(w.Len, 0, pos, size)
		w.Len++
		pos += size
	}
	w.Lasting = true
	d.words = w
	return nil
}

// length reads the length of the value at pos and moves pos to its bytes.
func (d *stringDecoder) length(data []byte, pos *int) (int, error) {
	size := d.fixed
	if size == 0 {
		if len(data)-*pos < 4 {
			return 0, errValuesShort
		}
		size = int(binary.LittleEndian.Uint32(data[*pos:]))
		*pos += 4
	}
	if size > len(data)-*pos {
		return 0, errors.New("a string is longer than its page")
	}
	return size, nil
}

func (d *stringDecoder) page(enc int32, data []byte, n int) error {
	d.mode, d.slot = modeNone, -1
	switch enc {
	case encPlain:
		d.mode, d.buf, d.pos = modePlain, data, 0
	case encPlainDict, encRLEDict:
		if d.words == nil {
			return errors.New("a page needs a dictionary that is missing")
		}
		d.mode = modeDict
		return startCodes(&d.codes, data)
	case encDeltaLength:
		if d.fixed > 0 {
			return badEncoding(enc)
		}
		lengths, rest, err := deltaLengths(data, n, d.ints)
		if err != nil {
			return err
		}
		d.ints = lengths
		d.mode, d.buf, d.pos, d.lengths = modeDelta, rest, 0, lengths
	case encDeltaBytes:
		strs, lengths, err := deltaStrings(data, n, d.charge)
		if err != nil {
			return err
		}
		for _, l := range lengths {
			if d.fixed > 0 && int(l) != d.fixed {
				return errors.New("a value of another length than its type's")
			}
		}
		d.mode, d.buf, d.pos, d.lengths = modeDelta, strs, 0, lengths
	case encByteStreamSplit:
		if d.fixed == 0 || len(data)%d.fixed != 0 {
			return badEncoding(enc)
		}
		count := len(data) / d.fixed
		b := make([]byte, len(data))
		for i := range count {
			for j := range d.fixed {
				b[i*d.fixed+j] = data[j*count+i]
			}
		}
		d.mode, d.buf, d.pos = modePlain, b, 0
	default:
		return badEncoding(enc)
	}
	return nil
}

// dictCodes reports whether the page holds dictionary codes.
func (d *stringDecoder) dictCodes() bool { return d.mode == modeDict && d.words.Len > 0 }

// readCodes appends m codes to out, a vector of Dict form.
func (d *stringDecoder) readCodes(out *vector.Vec, m int) error {
	codes := grow(&out.Codes, m)
	if err := d.codes.read(codes); err != nil {
		return err
	}
	return checkCodes(codes, d.words.Len)
}

func (d *stringDecoder) read(out *vector.Vec, m int) error {
	if m == 0 {
		return nil
	}
	if d.mode == modeDict {
		d.code = d.code[:0]
		codes := grow(&d.code, m)
		if err := d.codes.read(codes); err != nil {
			return err
		}
		if err := checkCodes(codes, d.words.Len); err != nil {
			return err
		}
		if d.wordsAt < 0 {
			d.wordsAt = addBufs(out, d.words)
		}
		appendWords(out, codes, d.words, d.wordsAt)
		return nil
	}
	if d.mode != modePlain && d.mode != modeDelta {
		return errValuesShort
	}
	if d.slot < 0 {
		d.slot = len(out.Bufs)
		out.Bufs = append(out.Bufs, d.buf)
	}
	at := len(out.Views)
	grow(&out.Views, m)
	if d.mode == modeDelta {
		if m > len(d.lengths) {
			return errValuesShort
		}
		for i, l := range d.lengths[:m] {
			if l < 0 || l > int64(len(d.buf)-d.pos) {
				return errors.New("a string is longer than its page")
			}
			out.SetView(at+i, d.slot, d.pos, int(l))
			d.pos += int(l)
		}
		d.lengths = d.lengths[m:]
		return nil
	}
	for i := range m {
		size, err := d.length(d.buf, &d.pos)
		if err != nil {
			return err
		}
		out.SetView(at+i, d.slot, d.pos, size)
		d.pos += size
	}
	return nil
}

func (d *stringDecoder) skip(m int) error {
	switch {
	case m == 0:
		return nil
	case d.mode == modeDict:
		return d.codes.skip(m)
	case d.mode == modeDelta:
		if m > len(d.lengths) {
			return errValuesShort
		}
		for _, l := range d.lengths[:m] {
			if l < 0 || l > int64(len(d.buf)-d.pos) {
				return errors.New("a string is longer than its page")
			}
			d.pos += int(l)
		}
		d.lengths = d.lengths[m:]
		return nil
	case d.mode != modePlain:
		return errValuesShort
	}
	for range m {
		size, err := d.length(d.buf, &d.pos)
		if err != nil {
			return err
		}
		d.pos += size
	}
	return nil
}

// addBufs makes the buffers of words known to out and returns where they start.
func addBufs(out, words *vector.Vec) int {
	at := len(out.Bufs)
	out.Bufs = append(out.Bufs, words.Bufs...)
	return at
}

// appendWords appends the views of words at codes, whose buffers lie at base.
func appendWords(out *vector.Vec, codes []uint32, words *vector.Vec, base int) {
	dst := grow(&out.Views, len(codes))
	for i, c := range codes {
		v := words.Views[c]
		if v.Len() > 12 && base > 0 {
			binary.LittleEndian.PutUint32(v[8:12], binary.LittleEndian.Uint32(v[8:12])+uint32(base))
		}
		dst[i] = v
	}
}

// deltaLengths reads the lengths of DELTA_LENGTH_BYTE_ARRAY and returns them and
// the bytes of the strings.
func deltaLengths(data []byte, most int, buf []int64) (lengths []int64, rest []byte, err error) {
	if len(data) == 0 {
		return buf[:0], nil, nil
	}
	var d delta
	n, err := d.reset(data, most)
	if err != nil {
		return nil, nil, err
	}
	lengths = buf[:0]
	if err := d.read(grow(&lengths, n)); err != nil {
		return nil, nil, err
	}
	return lengths, d.rest(), nil
}

// deltaStrings reads DELTA_BYTE_ARRAY: the length of the prefix shared with the
// value before, and the rest. It returns the values' bytes joined.
func deltaStrings(data []byte, most int, charge func(int64) error) (joined []byte, lengths []int64, err error) {
	if len(data) == 0 {
		return nil, nil, nil
	}
	var d delta
	n, err := d.reset(data, most)
	if err != nil {
		return nil, nil, err
	}
	prefixes := make([]int64, n)
	if err := d.read(prefixes); err != nil {
		return nil, nil, err
	}
	lengths, suffixes, err := deltaLengths(d.rest(), most, nil)
	if err != nil {
		return nil, nil, err
	}
	if len(lengths) != n {
		return nil, nil, errValuesShort
	}
	last, pos, total := int64(0), int64(0), int64(0)
	for i, p := range prefixes {
		l := lengths[i]
		if p < 0 || p > last || l < 0 || l > int64(len(suffixes))-pos {
			return nil, nil, errors.New("a string is longer than its page")
		}
		last, pos = p+l, pos+l
		if total += last; total > maxPageBytes {
			return nil, nil, errors.New("a page has more than 1 GiB of strings")
		}
	}
	if err := charge(total); err != nil {
		return nil, nil, err
	}
	joined = make([]byte, 0, total)
	last, pos = 0, 0
	for i, p := range prefixes {
		start := int64(len(joined)) - last
		joined = append(joined, joined[start:start+p]...)
		joined = append(joined, suffixes[pos:pos+lengths[i]]...)
		pos += lengths[i]
		last = p + lengths[i]
		lengths[i] = last
	}
	return joined, lengths, nil
}

// deltaByteArrays is deltaStrings for values of one width.
func deltaByteArrays(data []byte, most, width int, charge func(int64) error) ([]byte, error) {
	b, lengths, err := deltaStrings(data, most, charge)
	for _, l := range lengths {
		if int(l) != width {
			return nil, errors.New("a value of another length than its type's")
		}
	}
	return b, err
}

// decimalBytes decodes decimals stored as byte arrays, big endian and of any
// length, by way of strings.
type decimalBytes struct {
	stringDecoder
	tmp vector.Vec
}

func (d *decimalBytes) read(out *vector.Vec, m int) error {
	d.tmp = vector.Vec{Kind: vector.Str, Views: d.tmp.Views[:0]}
	d.begin()
	if err := d.stringDecoder.read(&d.tmp, m); err != nil {
		return err
	}
	d.tmp.Len = m
	for i := range m {
		x, ok := vector.Int128FromBigEndian(d.tmp.Bytes(i))
		if !ok || out.Kind == vector.I64 && !x.IsInt64() {
			return errors.New("a decimal is larger than its precision")
		}
		if out.Kind == vector.I64 {
			out.I64s = append(out.I64s, x.Int64())
		} else {
			out.I128s = append(out.I128s, x)
		}
	}
	return nil
}
