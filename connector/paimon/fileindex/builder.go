package fileindex

import (
	"strconv"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/internal/vector"
)

// Builder makes the index of one column of one data file. It belongs to one
// goroutine.
type Builder interface {
	// Add adds the rows from <= i < to of v, which is of the column's type and
	// any form, as the file's next rows.
	Add(v *vector.Vec, from, to int)
	// Bytes estimates the memory that the builder holds.
	Bytes() int64
	// Finish returns the index, for Entry.Body; nil when the kind cannot hold the
	// rows, which then go without.
	Finish() []byte
}

// NewBuilder makes a builder of a kind for a column of type t. option returns
// the value of file-index.<kind>.<column>.<name>, "" when it is not set. A type
// that the kind cannot index is refused.
func NewBuilder(kind string, t catalog.Type, option func(name string) string) (Builder, error) {
	_, coded := newCodec(t)
	ok := false
	switch kind {
	case BloomFilter:
		ok = hashable(t)
	case Bitmap:
		ok = coded && t.Kind != catalog.Decimal
	case BSI:
		ok = coded && integral(t)
	case RangeBitmap:
		ok = coded
	default:
		return nil, errs.Unsupportedf(-1, "file indexes of the kind %q", kind)
	}
	if !ok {
		return nil, errs.Unsupportedf(-1, "a %s index of a column of type %s", kind, t.Nullable())
	}
	switch kind {
	case BloomFilter:
		return newBloomBuilder(t, option)
	case Bitmap:
		return newBitmapBuilder(t, option)
	case RangeBitmap:
		return newRangeBuilder(t, option)
	}
	return newBSIBuilder(t), nil
}

func number(option func(string) string, name string, def int64) (int64, error) {
	s := option(name)
	if s == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, errs.Userf(errs.InvalidConfig, "the file index option %s = %q is not a positive number", name, s)
	}
	return n, nil
}

func fraction(option func(string) string, name string, def float64) (float64, error) {
	s := option(name)
	if s == "" {
		return def, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0 && f < 1) {
		return 0, errs.Userf(errs.InvalidConfig, "the file index option %s = %q is not between 0 and 1", name, s)
	}
	return f, nil
}

func size(option func(string) string, name string, def int64) (int64, error) {
	s := option(name)
	if s == "" {
		return def, nil
	}
	n, err := memory.ParseSize(s)
	if err != nil || n <= 0 || n > 1<<30 {
		return 0, errs.Userf(errs.InvalidConfig, "the file index option %s = %q is not a size", name, s)
	}
	return n, nil
}
