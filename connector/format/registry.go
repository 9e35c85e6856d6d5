package format

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// Registry knows formats by name. It is immutable.
type Registry struct{ formats map[string]Format }

// NewRegistry makes a registry of the given formats.
func NewRegistry(formats ...Format) *Registry {
	r := &Registry{formats: make(map[string]Format, len(formats))}
	for _, f := range formats {
		r.formats[f.Name()] = f
	}
	return r
}

// ByName returns the format of a name, in any case ("parquet").
func (r *Registry) ByName(name string) (Format, error) {
	if f, ok := r.formats[strings.ToLower(name)]; ok {
		return f, nil
	}
	return nil, errs.Unsupportedf(-1, "the data file format %q", name)
}

// compressions are the extensions that Paimon appends for text formats; the
// format is then the extension before.
var compressions = map[string]bool{"gz": true, "gzip": true, "bz2": true, "deflate": true, "snappy": true, "lz4": true, "zst": true, "zstd": true, "lzo": true}

// FormatOf returns the format's name in a file name: its last extension, or the
// one before a compression's.
func FormatOf(fileName string) string {
	name := fileName[strings.LastIndexByte(fileName, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return ""
	}
	last := strings.ToLower(name[dot+1:])
	if before := strings.LastIndexByte(name[:dot], '.'); before >= 0 && compressions[last] {
		return strings.ToLower(name[before+1 : dot])
	}
	return last
}

// ByFile returns the format of a file by its name.
func (r *Registry) ByFile(fileName string) (Format, error) {
	name := FormatOf(fileName)
	if f, ok := r.formats[name]; ok {
		return f, nil
	}
	return nil, errs.Unsupportedf(-1, "the data file format %q (file %s)", name, fileName)
}
