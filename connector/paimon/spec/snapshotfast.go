package spec

import (
	"bytes"
	"strconv"
)

// scanSnapshot reads a snapshot file that is written as writers do: one flat
// object of strings without escapes, whole numbers and nulls, with properties as
// the only object inside. It reports false for anything else, which
// encoding/json then reads, or refuses; a table with ten thousand snapshots takes
// a tenth of the time.
func scanSnapshot(b []byte) (*Snapshot, bool) {
	p := jsonScan{b: b}
	s := &Snapshot{}
	if !p.byte('{') {
		return nil, false
	}
	if p.byte('}') {
		return s, p.end()
	}
	for {
		name, ok := p.text()
		if !ok || !p.byte(':') || !p.member(s, string(name)) {
			return nil, false
		}
		if p.byte(',') {
			continue
		}
		return s, p.byte('}') && p.end()
	}
}

// jsonScan walks over JSON.
type jsonScan struct {
	b  []byte
	at int
}

func (p *jsonScan) space() {
	for p.at < len(p.b) && (p.b[p.at] == ' ' || p.b[p.at] == '\n' || p.b[p.at] == '\r' || p.b[p.at] == '\t') {
		p.at++
	}
}

// byte passes over c, if it comes next.
func (p *jsonScan) byte(c byte) bool {
	p.space()
	if p.at < len(p.b) && p.b[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *jsonScan) end() bool {
	p.space()
	return p.at == len(p.b)
}

func (p *jsonScan) null() bool {
	p.space()
	if bytes.HasPrefix(p.b[p.at:], []byte("null")) {
		p.at += 4
		return true
	}
	return false
}

// text reads a string of printable ASCII without escapes.
func (p *jsonScan) text() ([]byte, bool) {
	if !p.byte('"') {
		return nil, false
	}
	for i := p.at; i < len(p.b); i++ {
		switch c := p.b[i]; {
		case c == '"':
			t := p.b[p.at:i]
			p.at = i + 1
			return t, true
		case c == '\\' || c < 0x20 || c >= 0x7f:
			return nil, false
		}
	}
	return nil, false
}

// number reads a whole number.
func (p *jsonScan) number() (int64, bool) {
	p.space()
	i := p.at
	if i < len(p.b) && p.b[i] == '-' {
		i++
	}
	first := i
	for i < len(p.b) && p.b[i] >= '0' && p.b[i] <= '9' {
		i++
	}
	if i == first || p.b[first] == '0' && i > first+1 || i < len(p.b) && (p.b[i] == '.' || p.b[i] == 'e' || p.b[i] == 'E') {
		return 0, false
	}
	n, err := strconv.ParseInt(string(p.b[p.at:i]), 10, 64)
	p.at = i
	return n, err == nil
}

// member reads the value of a known member.
func (p *jsonScan) member(s *Snapshot, name string) bool {
	if before := p.b[:p.at]; p.null() {
		// Null after another value of the member would take it back.
		return snapshotFields[name] && bytes.Count(before, []byte(`"`+name+`"`)) == 1
	}
	str := func(to *string) bool {
		t, ok := p.text()
		*to = string(t)
		return ok
	}
	num := func(to *int64) bool {
		n, ok := p.number()
		*to = n
		return ok
	}
	opt := func(to **int64) bool {
		n, ok := p.number()
		*to = &n
		return ok
	}
	switch name {
	case "version":
		n, ok := p.number()
		s.Version = int(n)
		return ok && int64(int32(n)) == n
	case "uuid":
		return str(&s.UUID)
	case "id":
		return num(&s.ID)
	case "schemaId":
		return num(&s.SchemaID)
	case "baseManifestList":
		return str(&s.BaseManifestList)
	case "baseManifestListSize":
		return opt(&s.BaseManifestListSize)
	case "deltaManifestList":
		return str(&s.DeltaManifestList)
	case "deltaManifestListSize":
		return opt(&s.DeltaManifestListSize)
	case "changelogManifestList":
		return str(&s.ChangelogManifestList)
	case "changelogManifestListSize":
		return opt(&s.ChangelogManifestListSize)
	case "indexManifest":
		return str(&s.IndexManifest)
	case "commitUser":
		return str(&s.CommitUser)
	case "writerVersion":
		return str(&s.WriterVersion)
	case "commitIdentifier":
		return num(&s.CommitIdentifier)
	case "commitKind":
		t, ok := p.text()
		s.CommitKind = CommitKind(t)
		return ok
	case "timeMillis":
		return num(&s.TimeMillis)
	case "totalRecordCount":
		return opt(&s.TotalRecordCount)
	case "deltaRecordCount":
		return opt(&s.DeltaRecordCount)
	case "changelogRecordCount":
		return opt(&s.ChangelogRecordCount)
	case "watermark":
		return opt(&s.Watermark)
	case "statistics":
		return str(&s.Statistics)
	case "nextRowId":
		return opt(&s.NextRowID)
	case "operation":
		return str(&s.Operation)
	case "properties":
		return p.texts(s)
	}
	return false
}

// texts reads the properties.
func (p *jsonScan) texts(s *Snapshot) bool {
	if s.Properties != nil || !p.byte('{') {
		return false
	}
	s.Properties = map[string]string{}
	if p.byte('}') {
		return true
	}
	for {
		k, ok := p.text()
		if !ok || !p.byte(':') {
			return false
		}
		v, ok := p.text()
		if !ok {
			return false
		}
		s.Properties[string(k)] = string(v)
		if p.byte(',') {
			continue
		}
		return p.byte('}')
	}
}
