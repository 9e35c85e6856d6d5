package mysql

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/thermocline/thermocline/ingest/source"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// bindColumns checks that a TABLE_MAP event fits the definition that rows are
// decoded by, and returns the columns with their storage in the log.
func bindColumns(defined []column, e *replication.TableMapEvent) ([]column, error) {
	if int(e.ColumnCount) != len(defined) || len(e.ColumnType) != len(defined) || len(e.ColumnMeta) != len(defined) {
		return nil, fmt.Errorf("it has %d columns in the binlog and %d in the copy", e.ColumnCount, len(defined))
	}
	cols := make([]column, len(defined))
	copy(cols, defined)
	var unsigned map[int]bool
	if len(e.SignednessBitmap) > 0 {
		unsigned = e.UnsignedMap()
	}
	for i := range cols {
		c := &cols[i]
		c.scratch = nil
		c.log, c.meta = realType(e.ColumnType[i], e.ColumnMeta[i])
		if !c.fits() {
			return nil, fmt.Errorf("column %s is %s in the copy, and has type %d with metadata %#x in the binlog", c.name, c.native, c.log, c.meta)
		}
		if i < len(e.ColumnName) && !strings.EqualFold(string(e.ColumnName[i]), c.name) {
			return nil, fmt.Errorf("column %s of the copy is %s in the binlog", c.name, e.ColumnName[i])
		}
		if u, ok := unsigned[i]; ok && c.kind == kindInt && u != c.native.Unsigned {
			return nil, fmt.Errorf("column %s is %s in the copy, and has another sign in the binlog", c.name, c.native)
		}
	}
	return cols, nil
}

// maxCharBytes are the bytes of the widest character of a set; others have 1.
var maxCharBytes = map[string]int{"utf8mb4": 4, "utf8mb3": 3, "utf8": 3, "ucs2": 2, "utf16": 4, "utf16le": 4, "utf32": 4, "gbk": 2, "gb2312": 2,
	"gb18030": 4, "big5": 2, "sjis": 2, "cp932": 2, "ujis": 3, "eucjpms": 3, "euckr": 2}

// fits reports whether the column's storage in the log is that of its declared
// type.
func (c *column) fits() bool {
	n := c.native
	temporal := func(now, old logType) bool {
		return c.log == now && int(c.meta) == n.Fsp || c.log == old && n.Fsp == 0
	}
	chars := n.Length
	if w := maxCharBytes[n.Charset]; w > 0 {
		chars *= w
	}
	switch n.Type {
	case "tinyint", "boolean":
		return c.log == logTiny
	case "smallint":
		return c.log == logShort
	case "mediumint":
		return c.log == logInt24
	case "int":
		return c.log == logLong
	case "bigint":
		return c.log == logLongLong
	case "decimal":
		return c.log == logDecimal && int(c.meta>>8) == n.Length && int(c.meta&0xFF) == n.Scale
	case "float":
		return c.log == logFloat
	case "double":
		return c.log == logDouble
	case "bit":
		return c.log == logBit && int(c.meta>>8)*8+int(c.meta&0xFF) == n.Length
	case "year":
		return c.log == logYear
	case "date":
		return c.log == logDate
	case "datetime":
		return temporal(logDatetime2, logDatetime)
	case "timestamp":
		return temporal(logTimestamp2, logTimestamp)
	case "time":
		return temporal(logTime2, logTime)
	case "char":
		return c.log == logString && int(c.meta) == chars
	case "varchar":
		return (c.log == logVarchar || c.log == logVarString) && int(c.meta) == chars
	case "binary":
		return c.log == logString && int(c.meta) == n.Length
	case "varbinary":
		return (c.log == logVarchar || c.log == logVarString) && int(c.meta) == n.Length
	case "tinytext", "tinyblob":
		return c.log == logBlob && c.meta == 1
	case "text", "blob":
		return c.log == logBlob && c.meta == 2
	case "mediumtext", "mediumblob":
		return c.log == logBlob && c.meta == 3
	case "longtext", "longblob":
		return c.log == logBlob && c.meta == 4
	case "json":
		return c.log == logJSON
	case "enum":
		return c.log == logEnum && (c.meta == 1 && len(n.Labels) < 256 || c.meta == 2 && len(n.Labels) > 255)
	case "set":
		size := (len(n.Labels) + 7) / 8
		if size > 4 {
			size = 8
		}
		return c.log == logSet && int(c.meta) == size
	case "uuid", "inet6":
		return c.log == logString && c.meta == 16
	case "inet4":
		return c.log == logString && c.meta == 4
	}
	return false
}

// span is a value in a row image; from < 0 is NULL.
type span struct{ from, to int }

// logRows are the undecoded rows of one event.
type logRows struct {
	table         *source.Table
	cols          []column
	data          []byte
	at            int
	kind          replication.EnumRowsEventType
	before, after []span
	invalid       int64
}

// AppendTo implements source.Rows. An UPDATE that keeps the identity gives one
// +U (with the -U before it where the table wants it); one that changes it gives
// a -D and a +I.
func (r *logRows) AppendTo(b *vector.Batch, max int, limit int64) error {
	for r.at < len(r.data) {
		if b.Len >= max || limit <= 0 {
			return nil
		}
		start := r.at
		if err := r.image(&r.after); err != nil {
			return r.damaged(err)
		}
		kind := vector.Insert
		switch r.kind {
		case replication.EnumRowsEventTypeDelete:
			kind = vector.Delete
		case replication.EnumRowsEventTypeUpdate:
			r.before, r.after = r.after, r.before
			if err := r.image(&r.after); err != nil {
				return r.damaged(err)
			}
			kind = vector.UpdateAfter
			if r.moved() {
				if err := r.append(b, r.before, vector.Delete); err != nil {
					return err
				}
				kind = vector.Insert
			} else if r.table.BeforeImages {
				if err := r.append(b, r.before, vector.UpdateBefore); err != nil {
					return err
				}
			}
		case replication.EnumRowsEventTypeInsert:
		default:
			return r.damaged(fmt.Errorf("the kind of change %d is unknown", r.kind))
		}
		if err := r.append(b, r.after, kind); err != nil {
			return err
		}
		limit -= int64(r.at - start)
	}
	return source.EOF
}

// image finds the values of the next row image.
func (r *logRows) image(out *[]span) error {
	spans := (*out)[:0]
	nulls := r.data[r.at:]
	n := (len(r.cols) + 7) / 8
	if len(nulls) < n {
		return errShort
	}
	nulls = nulls[:n]
	at := r.at + n
	for i := range r.cols {
		if nulls[i>>3]&(1<<(i&7)) != 0 {
			spans = append(spans, span{-1, -1})
			continue
		}
		w, prefix, err := r.cols[i].width(r.data[at:])
		if err != nil {
			return err
		}
		spans = append(spans, span{at + prefix, at + w})
		at += w
	}
	r.at = at
	*out = spans
	return nil
}

// moved reports whether an UPDATE changed the identity: the stored bytes of a
// value are the same exactly when its lake value is.
func (r *logRows) moved() bool {
	for _, i := range r.table.Identity {
		a, b := r.before[i], r.after[i]
		if (a.from < 0) != (b.from < 0) || a.from >= 0 && !bytes.Equal(r.data[a.from:a.to], r.data[b.from:b.to]) {
			return true
		}
	}
	return false
}

func (r *logRows) append(b *vector.Batch, row []span, kind vector.RowKind) error {
	for i := range r.cols {
		c := &r.cols[i]
		if row[i].from < 0 {
			if err := c.appendNull(b.Cols[i]); err != nil {
				return r.damaged(err)
			}
			continue
		}
		invalid, err := c.appendFromLog(b.Cols[i], r.data[row[i].from:row[i].to])
		if err != nil {
			return r.damaged(err)
		}
		if invalid {
			r.invalid++
		}
	}
	if kind != vector.Insert || b.Kinds != nil {
		for len(b.Kinds) < b.Len {
			b.Kinds = append(b.Kinds, vector.Insert)
		}
		b.Kinds = append(b.Kinds, kind)
	}
	b.Len++
	return nil
}

func (r *logRows) damaged(err error) error {
	return errs.New(errs.User, errs.TableStopped, "follow %s: %w", r.table.ID, err)
}

// Rewind implements source.Rows.
func (r *logRows) Rewind() { r.at, r.invalid = 0, 0 }

// Invalid implements source.Rows.
func (r *logRows) Invalid() int64 { return r.invalid }

// Close implements source.Rows.
func (r *logRows) Close() error { return nil }
