package write

import (
	"strings"

	"github.com/thermocline/thermocline/connector/format"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
)

// shape is how one kind of file is written: data files of a level, changelog
// files, rows that wait for their bucket.
type shape struct {
	layout      *layout
	format      format.Format
	extension   string
	compression string
	zlevel      int // of the codec
	changelog   bool
	prefix      string     // of the name, "": as the table says
	stats       *statsMode // nil: as the table says
}

// name names a new file.
func (sh *shape) name(p *spec.Paths, n *spec.Namer) string {
	switch {
	case sh.changelog:
		return p.ChangelogFileName(n, sh.extension)
	case sh.prefix != "":
		return n.Named(sh.prefix) + "." + sh.extension
	}
	return p.DataFileName(n, sh.extension)
}

// shapes are the kinds of files of a table.
type shapes struct {
	data      *shape
	levels    map[int32]*shape // levels that differ
	changelog *shape
}

// level returns the shape of data files of a level.
func (s *shapes) level(n int32) *shape {
	if sh := s.levels[n]; sh != nil {
		return sh
	}
	return s.data
}

// newShapes checks that the table's formats can be written.
func newShapes(o *options, l *layout, formats *format.Registry) (*shapes, error) {
	make := func(name, compression string) (*shape, error) {
		f, err := formats.Writable(name)
		if err != nil {
			return nil, err
		}
		sh := &shape{layout: l, format: f, compression: compression, extension: name}
		if compression == "zstd" || compression == "" {
			sh.zlevel = o.zlevel
		}
		if o.suffixed {
			sh.extension = compression + "." + name
		}
		return sh, nil
	}
	out := &shapes{levels: map[int32]*shape{}}
	var err error
	if out.data, err = make(o.format, o.compression); err != nil {
		return nil, err
	}
	for _, n := range o.levelsNamed() {
		f, c := o.format, o.compression
		if v, ok := o.formatLevels[n]; ok {
			f = v
		}
		if v, ok := o.compressionLevels[n]; ok {
			c = v
		}
		if out.levels[n], err = make(f, c); err != nil {
			return nil, err
		}
	}
	if o.producer != producerNone {
		if out.changelog, err = make(o.changelogFormat, o.changelogCompression); err != nil {
			return nil, err
		}
		out.changelog.changelog, out.changelog.stats = true, o.changelogStats
	}
	return out, nil
}

// trackedShape returns the shape of files whose rows keep their ids and versions.
func (w *Writer) trackedShape() (*shape, error) {
	sh := *w.shapes.data
	sh.layout = newLayout(w.cfg.Schema, w.opts, true)
	return &sh, nil
}

// levelMap reads "0:avro,3:parquet".
func levelMap(o *spec.Options, key string) (map[int32]string, error) {
	v := o.String(key, "")
	if v == "" {
		return nil, nil
	}
	out := map[int32]string{}
	for _, part := range strings.Split(v, ",") {
		lv, what, ok := strings.Cut(part, ":")
		n, err := parseLevel(lv)
		if !ok || err != nil {
			return nil, errs.Userf(errs.InvalidConfig, "read the table option %q: %q is not level:value", key, part)
		}
		out[n] = strings.ToLower(strings.TrimSpace(what))
	}
	return out, nil
}
