package syntax

import "strings"

// typeForm says what may follow a type's name.
type typeForm uint8

const (
	formPlain  typeForm = iota
	formLength          // (n)
	formNumber          // (p[, s]) [UNSIGNED] [SIGNED] [ZEROFILL]
	formText            // (n) [CHARACTER SET …] [BINARY]
	formValues          // ('a', 'b') [CHARACTER SET …]
)

var typeForms = buildTypeForms()

func buildTypeForms() map[string]typeForm {
	m := map[string]typeForm{}
	add := func(f typeForm, names string) {
		for _, n := range strings.Fields(names) {
			m[n] = f
		}
	}
	add(formPlain, `DATE JSON GEOMETRY POINT LINESTRING POLYGON MULTIPOINT MULTILINESTRING MULTIPOLYGON
		GEOMETRYCOLLECTION GEOMCOLLECTION BOOL BOOLEAN SERIAL STRING BYTES TINYBLOB MEDIUMBLOB LONGBLOB VARIANT UUID`)
	add(formLength, `BIT YEAR TIME TIMESTAMP DATETIME BINARY VARBINARY BLOB TIMESTAMP_LTZ TIMESTAMPTZ VECTOR`)
	add(formNumber, `TINYINT SMALLINT MEDIUMINT INT INTEGER BIGINT INT1 INT2 INT3 INT4 INT8 MIDDLEINT
		REAL DOUBLE FLOAT FLOAT4 FLOAT8 DECIMAL DEC NUMERIC FIXED`)
	add(formText, `CHAR CHARACTER VARCHAR VARCHARACTER NCHAR NVARCHAR TEXT TINYTEXT MEDIUMTEXT LONGTEXT LONG`)
	add(formValues, `ENUM SET`)
	return m
}

// dataType reads a type.
func (p *parser) dataType() *DataType {
	p.enter()
	defer func() { p.depth-- }()
	t := p.baseType()
	for p.is("ARRAY") && p.o.Dialect == Trino {
		p.advance()
		t = &DataType{At: t.At, Name: "ARRAY", Elem: t}
	}
	return t
}

func (p *parser) baseType() *DataType {
	t := &DataType{At: p.at()}
	if p.tok.kind != tWord {
		p.bad()
	}
	word := strings.ToUpper(p.tok.str)
	switch word {
	case "SIGNED", "UNSIGNED":
		p.advance()
		t.Name, t.Signed, t.Unsigned = "INTEGER", word == "SIGNED", word == "UNSIGNED"
		p.acceptAny("INTEGER", "INT")
		return t
	case "NATIONAL":
		p.advance()
		t.National = true
		switch w := p.acceptAny("CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER"); w {
		case "":
			p.bad()
		case "VARCHAR", "VARCHARACTER":
			t.Name = "VARCHAR"
		default:
			t.Name = "CHAR"
			if p.accept("VARYING") {
				t.Name = "VARCHAR"
			}
		}
		p.typeLength(t)
		t.Binary = p.accept("BINARY")
		return t
	case "ARRAY", "MULTISET", "MAP", "ROW":
		return p.nestedType(t, word)
	case "INTERVAL":
		p.advance()
		t.Name = "INTERVAL " + p.upperWord()
		p.typeLength(t)
		if p.accept("TO") {
			t.Name += " TO " + p.upperWord()
			if p.is("(") {
				p.advance()
				t.HasScale, t.Scale = true, p.number()
				p.expect(")")
			}
		}
		return t
	}
	form, ok := typeForms[word]
	if !ok {
		if p.o.Dialect == Trino && p.isName() {
			form = formLength
		} else {
			p.bad()
		}
	}
	p.advance()
	t.Name = word
	switch word {
	case "DOUBLE":
		if p.accept("PRECISION") {
			t.Name = "DOUBLE PRECISION"
		}
	case "CHAR", "CHARACTER", "NCHAR":
		switch {
		case p.accept("VARYING"):
			t.Name += " VARYING"
		case word == "NCHAR" && (p.accept("VARCHAR") || p.accept("VARCHARACTER")):
			t.Name = "NVARCHAR"
		}
	case "LONG":
		switch {
		case p.accept("VARBINARY"):
			t.Name = "LONG VARBINARY"
		case p.accept2("CHAR", "VARYING"), p.accept2("CHARACTER", "VARYING"), p.accept("VARCHAR"), p.accept("VARCHARACTER"):
			t.Name = "LONG VARCHAR"
		}
	}
	switch form {
	case formLength:
		p.typeLength(t)
		p.typeZone(t)
	case formNumber:
		p.typeLength(t)
		for {
			switch {
			case p.accept("UNSIGNED"):
				t.Unsigned = true
			case p.accept("SIGNED"):
				t.Signed = true
			case p.accept("ZEROFILL"):
				t.Zerofill = true
			default:
				return t
			}
		}
	case formText:
		p.typeLength(t)
		p.typeCharset(t)
	case formValues:
		p.expect("(")
		for {
			t.Values = append(t.Values, p.stringOrBytes())
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
		p.typeCharset(t)
	}
	return t
}

// typeLength reads (n) or (p, s).
func (p *parser) typeLength(t *DataType) {
	if !p.is("(") {
		return
	}
	p.advance()
	t.HasLength, t.Length = true, p.number()
	if p.accept(",") {
		t.HasScale, t.Scale = true, p.number()
	}
	p.expect(")")
}

// typeZone reads WITH [LOCAL] TIME ZONE and WITHOUT TIME ZONE.
func (p *parser) typeZone(t *DataType) {
	if t.Name != "TIMESTAMP" && t.Name != "TIME" {
		return
	}
	switch {
	case p.is("WITH") && p.peek(1).word == "TIME":
		t.Zone = WithTimeZone
		p.advance()
	case p.is("WITH") && p.peek(1).word == "LOCAL" && p.peek(2).word == "TIME":
		t.Zone = WithLocalTimeZone
		p.advance()
		p.advance()
	case p.is("WITHOUT") && p.peek(1).word == "TIME":
		t.Zone = WithoutTimeZone
		p.advance()
	default:
		return
	}
	p.expect("TIME")
	p.expect("ZONE")
}

// typeCharset reads CHARACTER SET x, CHARSET x, ASCII, UNICODE, BYTE, BINARY.
func (p *parser) typeCharset(t *DataType) {
	for {
		switch {
		case p.accept2("CHARACTER", "SET"), p.accept2("CHAR", "SET"), p.accept("CHARSET"):
			t.Charset = p.lowerName()
		case p.accept("ASCII"):
			t.Charset = "latin1"
		case p.accept("UNICODE"):
			t.Charset = "ucs2"
		case p.accept("BYTE"):
			t.Charset = "binary"
		case p.accept("BINARY"):
			t.Binary = true
		default:
			return
		}
	}
}

// nestedType reads ARRAY<t>, MAP<k, v>, MULTISET<t>, ROW<a t, …> and the same
// with parentheses.
func (p *parser) nestedType(t *DataType, word string) *DataType {
	p.advance()
	t.Name = word
	closing := ">"
	if !p.accept("<") {
		closing = ")"
		p.expect("(")
	}
	switch word {
	case "MAP":
		t.Key = p.memberType()
		p.expect(",")
		t.Elem = p.memberType()
	case "ROW":
		for {
			f := &RowField{At: p.at()}
			// A member may be unnamed in Trino's dialect.
			if p.o.Dialect == Trino && (p.peek(1).word == "," || p.peek(1).word == ")" || p.peek(1).word == "(") {
				f.Type = p.memberType()
			} else {
				f.Name = p.anyWord()
				f.Type = p.memberType()
			}
			if p.tok.kind == tString {
				f.Comment = p.stringValue()
			}
			t.Fields = append(t.Fields, f)
			if !p.accept(",") {
				break
			}
		}
	default:
		t.Elem = p.memberType()
	}
	if closing == ">" && p.is(">>") {
		// The second half of >> closes the type around this one.
		p.tok.word = ">"
		p.tok.pos++
		return t
	}
	p.expect(closing)
	return t
}

// memberType reads a type inside another, with its [NOT] NULL.
func (p *parser) memberType() *DataType {
	t := p.dataType()
	if p.accept2("NOT", "NULL") {
		t.NotNull = true
	} else {
		p.accept("NULL")
	}
	return t
}
