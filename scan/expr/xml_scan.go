package expr

import (
	"fmt"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// The scanner of XML fragments for EXTRACTVALUE and UPDATEXML. It takes what
// MySQL's takes: entities stay as they are, text outside elements is text, an end
// tag must only be as long as the start tag, and nothing but elements, attributes
// and texts becomes a node.

// xmlNodes bounds the nodes of a fragment, which are not reserved from a budget: they
// take 24 MiB.
const xmlNodes = 1 << 20

// xmlDepth is how many nodes may be open at once, the document's root included.
const xmlDepth = 255

type xmlKind uint8

const (
	xmlElement xmlKind = iota
	xmlAttribute
	xmlText
)

// xmlNode is a node in the order of the document. Positions are bytes of the
// document:
//
//	<name attr="value">…</name>
//	 ^beg ^beg              ^end of name is tail of the element
//	     ^end ^end    ^tail of the attribute
type xmlNode struct {
	kind     xmlKind
	level    int32 // the root's is 0
	parent   int32 // index; the root is its own
	beg, end int32 // the name, or the text
	tail     int32 // where the scanner stood when the node was closed
}

type xmlDoc struct {
	text  []byte
	nodes []xmlNode
}

func (d *xmlDoc) name(i int32) []byte { return d.text[d.nodes[i].beg:d.nodes[i].end] }

// xmlToken is the kind of a token: its character, or one of these.
type xmlToken byte

const (
	xmlEOF     xmlToken = 'E'
	xmlString  xmlToken = 'S'
	xmlIdent   xmlToken = 'I'
	xmlComment xmlToken = 'C'
	xmlCDATA   xmlToken = 'D'
	xmlUnknown xmlToken = 'U'
)

func (t xmlToken) String() string {
	switch t {
	case xmlEOF:
		return "END-OF-INPUT"
	case xmlString:
		return "STRING"
	case xmlIdent:
		return "IDENT"
	case xmlComment:
		return "COMMENT"
	case xmlCDATA:
		return "CDATA"
	case xmlUnknown:
		return "unknown token"
	}
	return "'" + string(rune(t)) + "'"
}

type xmlScanner struct {
	doc    xmlDoc
	pos    int
	level  int32
	parent int32
	open   [xmlDepth + 1]int32 // the node that was entered last at each level
	names  []int32             // open elements and attributes, without the root
	beg    int                 // of the token
	end    int
	// refused is what MySQL answers in a way of its own.
	refused string
}

// scanXML reads a fragment. fault is what is wrong with it, "" for nothing.
func scanXML(text []byte) (doc *xmlDoc, fault string, err error) {
	s := &xmlScanner{doc: xmlDoc{text: text}}
	s.doc.nodes = make([]xmlNode, 0, 8)
	s.enter(xmlElement, 0, 0)
	s.names = s.names[:0]
	if msg, ok := s.parse(); !ok {
		if s.refused != "" {
			return nil, "", errs.Unsupportedf(-1, "XML: %s", s.refused)
		}
		line, start := 1, 0
		for i, c := range text[:min(s.pos, len(text))] {
			if c == '\n' {
				line, start = line+1, i
			}
		}
		return nil, fmt.Sprintf("parse error at line %d pos %d: %s", line, s.pos-start+1, msg), nil
	}
	return &s.doc, "", nil
}

func xmlSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func xmlNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' || c >= 0x80
}

func xmlNamePart(c byte) bool { return xmlNameStart(c) || c >= '0' && c <= '9' || c == '-' || c == '.' }

// next scans a token.
func (s *xmlScanner) next() xmlToken {
	t := s.doc.text
	for s.pos < len(t) && xmlSpace(t[s.pos]) {
		s.pos++
	}
	s.beg = s.pos
	s.end = s.pos
	if s.pos >= len(t) {
		return xmlEOF
	}
	rest := t[s.pos:]
	switch c := rest[0]; {
	case strings.HasPrefix(string(rest[:min(4, len(rest))]), "<!--"):
		s.skipTo("-->")
		return xmlComment
	case string(rest[:min(9, len(rest))]) == "<![CDATA[":
		s.skipTo("]]>")
		return xmlCDATA
	case strings.IndexByte("?=/<>!", c) >= 0:
		s.pos++
		s.end = s.pos
		return xmlToken(c)
	case c == '"' || c == '\'':
		s.pos++
		s.beg = s.pos
		for s.pos < len(t) && t[s.pos] != c {
			s.pos++
		}
		s.end = s.pos
		if s.pos < len(t) {
			s.pos++
		}
		return xmlString
	case xmlNameStart(c):
		for s.pos < len(t) && xmlNamePart(t[s.pos]) {
			s.pos++
		}
		s.end = s.pos
		return xmlIdent
	}
	return xmlUnknown
}

// skipTo moves behind the next end mark, or to the end.
func (s *xmlScanner) skipTo(mark string) {
	t := s.doc.text
	for ; s.pos < len(t); s.pos++ {
		if len(t)-s.pos >= len(mark) && string(t[s.pos:s.pos+len(mark)]) == mark {
			s.pos += len(mark)
			break
		}
	}
	s.end = s.pos
}

func (s *xmlScanner) enter(k xmlKind, beg, end int) bool {
	n := int32(len(s.doc.nodes))
	if s.level >= xmlDepth {
		return false
	}
	if n >= xmlNodes {
		s.refused = "fragments of more than 1,048,576 elements, attributes and texts"
		return false
	}
	s.doc.nodes = append(s.doc.nodes, xmlNode{kind: k, level: s.level, parent: s.parent, beg: int32(beg), end: int32(end)})
	s.open[s.level] = n
	s.level++
	s.parent = n
	s.names = append(s.names, n)
	return true
}

func (s *xmlScanner) value(beg, end int) {
	s.doc.nodes = append(s.doc.nodes, xmlNode{kind: xmlText, level: s.level, parent: s.parent, beg: int32(beg), end: int32(end)})
}

// leave closes the node that is open; named with an end tag's name.
func (s *xmlScanner) leave(named bool, beg, end int) (string, bool) {
	var want []byte
	if n := len(s.names); n > 0 {
		want = s.doc.name(s.names[n-1])
	}
	if named && end-beg != len(want) {
		got := xmlCut(s.doc.text[beg:end])
		if len(s.names) == 0 {
			return fmt.Sprintf("'</%s>' unexpected (END-OF-INPUT wanted)", got), false
		}
		if len(s.names) == 1 {
			want = want[1:] // MySQL's message leaves the first letter out
		}
		return fmt.Sprintf("'</%s>' unexpected ('</%s>' wanted)", got, xmlCut(want)), false
	}
	s.names = s.names[:len(s.names)-1]
	s.level--
	n := s.open[s.level]
	s.parent = s.doc.nodes[s.parent].parent
	s.doc.nodes[n].tail = int32(s.pos)
	return "", true
}

// xmlCut is a name as messages show it.
func xmlCut(s []byte) []byte { return s[:min(len(s), 31)] }

func xmlUnexpected(t xmlToken, wanted string) (string, bool) {
	return t.String() + " unexpected (" + wanted + " wanted)", false
}

func (s *xmlScanner) parse() (string, bool) {
	t := s.doc.text
	for s.pos < len(t) {
		if t[s.pos] == '<' {
			if msg, ok := s.markup(); !ok {
				return msg, false
			}
			continue
		}
		beg := s.pos
		for s.pos < len(t) && t[s.pos] != '<' {
			s.pos++
		}
		s.value(beg, s.pos)
	}
	if len(s.names) > 0 {
		return "unexpected END-OF-INPUT", false
	}
	return "", true
}

// markup reads what begins with "<".
func (s *xmlScanner) markup() (string, bool) {
	lex := s.next()
	switch lex {
	case xmlComment:
		return "", true
	case xmlCDATA:
		beg, end := s.beg+9, s.end-3
		if end < beg || string(s.doc.text[end:s.end]) != "]]>" {
			return "unexpected END-OF-INPUT", false
		}
		s.value(beg, end)
		return "", true
	}
	question, exclam := false, false
	lex = s.next()
	if lex == '/' {
		if lex = s.next(); lex != xmlIdent {
			return xmlUnexpected(lex, "ident")
		}
		if msg, ok := s.leave(true, s.beg, s.end); !ok {
			return msg, false
		}
		lex = s.next()
	} else {
		switch lex {
		case '!':
			lex, exclam = s.next(), true
		case '?':
			lex, question = s.next(), true
		}
		if lex != xmlIdent {
			return xmlUnexpected(lex, "ident or '/'")
		}
		if !s.enter(xmlElement, s.beg, s.end) {
			return "", false
		}
		var msg string
		var ok bool
		if lex, msg, ok = s.attributes(exclam); !ok {
			return msg, false
		}
		if lex == '/' && question {
			s.refused = "processing instructions that end in '/?>'"
			return "", false
		}
		if lex == '/' && !exclam {
			if msg, ok := s.leave(false, 0, 0); !ok {
				return msg, false
			}
			lex = s.next()
		}
	}
	if question {
		if lex != '?' {
			return xmlUnexpected(lex, "'?'")
		}
		if msg, ok := s.leave(false, 0, 0); !ok {
			return msg, false
		}
		lex = s.next()
	}
	if exclam {
		if msg, ok := s.leave(false, 0, 0); !ok {
			return msg, false
		}
	}
	if lex != '>' {
		return xmlUnexpected(lex, "'>'")
	}
	return "", true
}

// attributes reads the attributes of a tag and gives the token behind them.
func (s *xmlScanner) attributes(exclam bool) (xmlToken, string, bool) {
	for {
		lex := s.next()
		if lex != xmlIdent && (lex != xmlString || !exclam) {
			return lex, "", true
		}
		abeg, aend := s.beg, s.end
		lex = s.next()
		switch {
		case lex == '=':
			if lex = s.next(); lex != xmlIdent && lex != xmlString {
				msg, ok := xmlUnexpected(lex, "ident or string")
				return lex, msg, ok
			}
			vbeg, vend := s.beg, s.end
			if !s.enter(xmlAttribute, abeg, aend) {
				return lex, "", false
			}
			s.value(vbeg, vend)
			s.leave(false, 0, 0)
		case lex == xmlIdent:
			if !s.enter(xmlAttribute, abeg, aend) {
				return lex, "", false
			}
			s.leave(false, 0, 0)
		case lex == xmlString && exclam:
		default:
			return lex, "", true
		}
	}
}
