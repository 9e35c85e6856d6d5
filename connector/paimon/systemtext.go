package paimon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector/paimon/spec"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// The texts that Java Paimon prints in system tables.

// compactJSON writes v without spaces and without escaping < and >.
func compactJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// schemaText returns the fields and options of a schema as Java prints them: the
// fields as the file has them, the options in the order of a Java map.
func schemaText(ctx context.Context, t *Table, s *catalog.Schema) (fields, options json.RawMessage, err error) {
	path := spec.NewPaths(t.dir, t.id.Branch, t.schema).Schema(s.ID)
	data, err := t.driver.cfg.Files.ReadFile(ctx, path)
	if err != nil {
		return nil, nil, fmt.Errorf("table %s: %w", t.id, err)
	}
	var f struct {
		Fields  json.RawMessage `json:"fields"`
		Options json.RawMessage `json:"options"`
	}
	var b bytes.Buffer
	if err = json.Unmarshal(data, &f); err == nil {
		err = json.Compact(&b, f.Fields)
	}
	if err != nil {
		return nil, nil, errs.Corruptf("table %s: %s: %w", t.id, path, err)
	}
	fields = b.Bytes()
	keys, err := memberNames(f.Options)
	if err != nil {
		return nil, nil, errs.Corruptf("table %s: %s: %w", t.id, path, err)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { _, ok := s.Options[k]; return !ok })
	for k := range s.Options {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	options = append(options, '{')
	for i, k := range javaMapOrder(keys) {
		if i > 0 {
			options = append(options, ',')
		}
		for j, x := range []string{k, s.Options[k]} {
			text, err := compactJSON(x)
			if err != nil {
				return nil, nil, errs.Internalf("describe schema %d of %s: %w", s.ID, t.id, err)
			}
			if j > 0 {
				options = append(options, ':')
			}
			options = append(options, text...)
		}
	}
	return fields, append(options, '}'), nil
}

// memberNames returns the names of a JSON object's members, in their order.
func memberNames(raw json.RawMessage) (names []string, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil || len(raw) == 0 {
		return nil, err
	}
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := tok.(string)
		if !ok {
			return nil, fmt.Errorf("a member's name is %v", tok)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// javaMapOrder sorts keys, given in order of insertion, as java.util.HashMap
// iterates over them: by the slot of their hash in a table that doubles when it
// is three quarters full.
func javaMapOrder(keys []string) []string {
	size := uint32(16)
	for uint32(len(keys)) > size/4*3 {
		size *= 2
	}
	slot := func(s string) uint32 {
		h := uint32(0)
		for _, u := range utf16.Encode([]rune(s)) {
			h = 31*h + uint32(u)
		}
		return (h ^ h>>16) & (size - 1)
	}
	out := slices.Clone(keys)
	sort.SliceStable(out, func(i, j int) bool { return slot(out[i]) < slot(out[j]) })
	return out
}

// rowText prints the values of a row as Java prints them: "v1, v2". With legacy
// they are the internal values (dates are day numbers), else SQL's texts.
func rowText(row spec.BinaryRow, types []catalog.Type, legacy bool) (string, error) {
	vals, err := row.Decode(types)
	if err != nil {
		return "", err
	}
	parts := make([]string, len(vals))
	for i, v := range vals {
		parts[i] = valueText(types[i], v, legacy)
	}
	return strings.Join(parts, ", "), nil
}

func valueText(t catalog.Type, v *vector.Vec, legacy bool) string {
	if v == nil || v.IsNull(0) {
		return "null"
	}
	if legacy && (t.Kind == catalog.Binary || t.Kind == catalog.Varbinary) {
		return fmt.Sprintf("%x", v.Bytes(0)) // Java prints an object identity
	}
	return spec.PathText(t, v, 0, legacy)
}

// tagCreateTime reads [year, month, day, hour, minute, second, nanos], whose
// last parts may be missing, as milliseconds of the wall clock.
func tagCreateTime(raw json.RawMessage) (int64, bool) {
	var p []int
	if json.Unmarshal(raw, &p) != nil || len(p) < 3 || len(p) > 7 {
		return 0, false
	}
	for len(p) < 7 {
		p = append(p, 0)
	}
	return time.Date(p[0], time.Month(p[1]), p[2], p[3], p[4], p[5], p[6], time.UTC).UnixMilli(), true
}

// isoDuration prints decimal seconds as Java's Duration does: "PT1H0.5S". A text
// stays as it is.
func isoDuration(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", false
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	r, ok := new(big.Rat).SetString(string(raw))
	if !ok {
		return "", false
	}
	nanos := new(big.Int).Quo(new(big.Int).Mul(r.Num(), big.NewInt(1e9)), r.Denom())
	if !nanos.IsInt64() {
		return "", false
	}
	n := nanos.Int64()
	if n == 0 {
		return "PT0S", true
	}
	out := "PT"
	if h := n / 3600e9; h != 0 {
		out += strconv.FormatInt(h, 10) + "H"
	}
	if m := n / 60e9 % 60; m != 0 {
		out += strconv.FormatInt(m, 10) + "M"
	}
	if sec := n % 60e9; sec != 0 {
		out += strconv.FormatFloat(float64(sec)/1e9, 'f', -1, 64) + "S"
	}
	return out, true
}
