package format

import (
	"errors"

	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/internal/errs"
)

// ReadOnly is implemented by formats that read files and do not write any: their
// NewWriter always fails.
type ReadOnly interface {
	Format
	// ReadOnly marks the format.
	ReadOnly()
}

// Refuse is NewWriter of a format that does not write: it gives w up.
func Refuse(f ReadOnly, w fileio.Writer, path string) (Writer, error) {
	err := errs.Unsupportedf(-1, "writing data files of the format %q (%s; set file.format = parquet)", f.Name(), path)
	return nil, errors.Join(err, w.Abort())
}

// Writable returns the format of a name, in any case, if it writes files.
// Otherwise the error, of class Unsupported, names it, so that a table can be
// refused before rows for it are accepted.
func (r *Registry) Writable(name string) (Format, error) {
	f, err := r.ByName(name)
	if err != nil {
		return nil, err
	}
	if ro, ok := f.(ReadOnly); ok {
		return nil, errs.Unsupportedf(-1, "writing data files of the format %q", ro.Name())
	}
	return f, nil
}
