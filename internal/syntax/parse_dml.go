package syntax

// insert reads INSERT and REPLACE.
func (p *parser) insert(with *With) Statement {
	s := &Insert{At: p.at(), With: with, Replace: p.is("REPLACE")}
	if with != nil {
		s.At = with.At
	}
	if !p.is("INSERT") && !p.is("REPLACE") {
		p.bad()
	}
	p.advance()
	p.takeHints()
	s.Priority = p.acceptAny("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY")
	s.Ignore = p.accept("IGNORE")
	switch {
	case p.is("OVERWRITE") && !s.Replace && (p.peek(1).kind == tWord || p.peek(1).kind == tQuoted) && p.peek(1).word != "VALUES" && p.peek(1).word != "SELECT":
		p.advance()
		s.Overwrite = true
		p.accept("INTO")
	default:
		p.accept("INTO")
	}
	if p.is("TABLE") {
		p.advance()
	}
	s.Table = &TableName{At: p.at(), Name: p.objectName()}
	p.tableOptions(s.Table)
	if p.is2("PARTITION", "(") {
		spec := p.partitionSpec()
		static := s.Overwrite
		for _, it := range spec.Items {
			static = static || it.Value != nil
		}
		if static {
			s.Partition = spec
		} else {
			for _, it := range spec.Items {
				s.Table.Partitions = append(s.Table.Partitions, it.Name)
			}
		}
	}
	p.tableOptions(s.Table)
	if p.is("(") && !p.startsQueryAfterParens() {
		p.advance()
		s.HasColumns = true
		for more := !p.is(")"); more; more = p.accept(",") {
			c := p.columnRef()
			s.Columns = append(s.Columns, c.Parts[len(c.Parts)-1])
		}
		p.expect(")")
	}
	switch {
	case p.is("VALUES") && p.peek(1).word == "ROW":
		s.Query = p.query()
	case p.accept("VALUES"), p.accept("VALUE"):
		for {
			s.Rows = append(s.Rows, p.valueRow())
			if !p.accept(",") {
				break
			}
		}
	case p.is("SET") && !s.HasColumns:
		p.advance()
		s.SetForm = true
		s.HasColumns = true
		row := []Expr{}
		for {
			a := p.assignment()
			s.Columns = append(s.Columns, a.Column.Parts[len(a.Column.Parts)-1])
			row = append(row, a.Value)
			if !p.accept(",") {
				break
			}
		}
		s.Rows = [][]Expr{row}
	default:
		s.Query = p.query()
	}
	if s.Query == nil && p.is("AS") && !s.Replace {
		p.advance()
		s.RowAlias = p.ident()
		if p.is("(") {
			s.ColAliases = p.identList()
		}
	}
	if p.is2("ON", "DUPLICATE") && !s.Replace {
		p.advance()
		p.advance()
		p.expect("KEY")
		p.expect("UPDATE")
		s.OnDuplicate = p.assignments()
	}
	if p.accept("RETURNING") {
		s.Returning = p.selectItems()
	}
	return s
}

// startsQueryAfterParens reports whether the parentheses here open a query
// rather than a column list.
func (p *parser) startsQueryAfterParens() bool {
	switch p.peek(1).word {
	case "(", "SELECT", "WITH":
		return true
	case "VALUES":
		return p.peek(2).word == "ROW"
	case "TABLE":
		return true
	}
	return false
}

func (p *parser) assignment() *Assignment {
	a := &Assignment{At: p.at(), Column: p.columnRef()}
	if !p.accept(":=") {
		p.expect("=")
	}
	a.Value = p.expr()
	return a
}

func (p *parser) assignments() []*Assignment {
	list := []*Assignment{p.assignment()}
	for p.accept(",") {
		list = append(list, p.assignment())
	}
	return list
}

// partitionSpec reads PARTITION (a = 1, b).
func (p *parser) partitionSpec() *PartitionSpec {
	s := &PartitionSpec{At: p.at()}
	p.expect("PARTITION")
	p.expect("(")
	for {
		it := &PartitionItem{At: p.at(), Name: p.ident()}
		if p.accept("=") {
			it.Value = p.expr()
		}
		s.Items = append(s.Items, it)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return s
}

func (p *parser) update(with *With) Statement {
	s := &Update{At: p.at(), With: with}
	if with != nil {
		s.At = with.At
	}
	p.advance()
	p.takeHints()
	s.LowPriority = p.accept("LOW_PRIORITY")
	s.Ignore = p.accept("IGNORE")
	s.Tables = p.tableRefs()
	p.expect("SET")
	s.Set = p.assignments()
	s.Where, s.OrderBy, s.Limit = p.dmlTail()
	return s
}

func (p *parser) dmlTail() (where Expr, order []*OrderItem, limit *Limit) {
	if p.accept("WHERE") {
		where = p.expr()
	}
	if p.accept2("ORDER", "BY") {
		order = p.orderItems()
	}
	if p.is("LIMIT") {
		limit = p.limitN()
	}
	return
}

func (p *parser) delete(with *With) Statement {
	s := &Delete{At: p.at(), With: with}
	if with != nil {
		s.At = with.At
	}
	p.advance()
	p.takeHints()
	for {
		switch {
		case p.accept("LOW_PRIORITY"):
			s.LowPriority = true
			continue
		case p.is("QUICK") && p.peek(1).word != "." && p.peek(1).word != ",":
			p.advance()
			s.Quick = true
			continue
		case p.accept("IGNORE"):
			s.Ignore = true
			continue
		}
		break
	}
	if !p.is("FROM") {
		s.Targets = p.deleteTargets()
		p.expect("FROM")
		s.From = p.tableRefs()
	} else {
		p.advance()
		if p.deletesSeveral() {
			s.Targets = p.deleteTargets()
			p.expect("USING")
			s.Using = true
			s.From = p.tableRefs()
		} else {
			t := &TableName{At: p.at(), Name: p.objectName()}
			p.tableTail(t)
			if p.is2("PARTITION", "(") {
				p.advance()
				t.Partitions = p.identList()
			}
			s.From = t
		}
	}
	s.Where, s.OrderBy, s.Limit = p.dmlTail()
	if p.accept("RETURNING") {
		s.Returning = p.selectItems()
	}
	return s
}

// deletesSeveral reports whether the list after DELETE FROM is one of targets,
// with USING to come. It looks ahead over the names of the list.
func (p *parser) deletesSeveral() bool {
	for n := 0; ; n++ {
		t := p.peek(n)
		switch {
		case t.kind == tQuoted, t.kind == tWord && !t.reserved, t.word == ".":
		case t.word == "*", t.word == ",", t.word == "USING":
			return true
		default:
			return false
		}
	}
}

// deleteTargets reads t, db.t, t.*, ….
func (p *parser) deleteTargets() []ObjectName {
	var list []ObjectName
	for {
		n := ObjectName{At: p.at(), Parts: []Ident{p.ident()}}
		for p.accept(".") {
			if p.accept("*") {
				break
			}
			n.Parts = append(n.Parts, p.anyWord())
		}
		list = append(list, n)
		if !p.accept(",") {
			return list
		}
	}
}

func (p *parser) merge(with *With) Statement {
	s := &Merge{At: p.at(), With: with}
	if with != nil {
		s.At = with.At
	}
	p.advance()
	p.expect("INTO")
	s.Into = &TableName{At: p.at(), Name: p.objectName()}
	p.tableOptions(s.Into)
	s.Into.Alias = p.tableAlias()
	p.expect("USING")
	s.Source = p.joined(p.tableFactor())
	p.expect("ON")
	s.On = p.expr()
	for p.is("WHEN") {
		s.Whens = append(s.Whens, p.mergeWhen())
	}
	if len(s.Whens) == 0 {
		p.bad()
	}
	return s
}

func (p *parser) mergeWhen() *MergeWhen {
	w := &MergeWhen{At: p.at(), Matched: true}
	p.expect("WHEN")
	if p.accept("NOT") {
		w.Matched = false
	}
	p.expect("MATCHED")
	if !w.Matched && p.accept("BY") {
		if p.accept("SOURCE") {
			w.BySource = true
		} else if !p.acceptName("TARGET") {
			p.bad()
		}
	}
	if p.accept("AND") {
		w.And = p.expr()
	}
	p.expect("THEN")
	switch {
	case p.accept("UPDATE"):
		w.Action = MergeUpdate
		p.expect("SET")
		if p.accept("*") {
			w.All = true
			return w
		}
		w.Set = p.assignments()
	case p.accept("DELETE"):
		w.Action = MergeDelete
	case p.accept2("DO", "NOTHING"):
		w.Action = MergeDoNothing
	default:
		p.expect("INSERT")
		w.Action = MergeInsert
		if p.accept("*") {
			w.All = true
			return w
		}
		if p.is("(") {
			p.advance()
			for {
				c := p.columnRef()
				w.Columns = append(w.Columns, c.Parts[len(c.Parts)-1])
				if !p.accept(",") {
					break
				}
			}
			p.expect(")")
		}
		p.expect("VALUES")
		w.Values = p.valueRow()
	}
	return w
}

// acceptName moves over a word that need not be a keyword.
func (p *parser) acceptName(w string) bool {
	if p.tok.kind == tWord && equalFoldASCII(p.tok.str, w) {
		p.advance()
		return true
	}
	return false
}

func equalFoldASCII(s, upper string) bool {
	if len(s) != len(upper) {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}

// load reads LOAD DATA and LOAD XML; other LOAD statements are unsupported.
func (p *parser) load() Statement {
	l := &LoadData{At: p.at()}
	switch p.peek(1).word {
	case "DATA":
	case "XML":
		l.XML = true
	case "INDEX":
		return p.skip("LOAD INDEX INTO CACHE")
	default:
		if equalFoldASCII(p.peek(1).str, "MODULE") {
			return p.skip("LOAD MODULE")
		}
		p.advance()
		p.bad()
	}
	p.advance()
	p.advance()
	l.Priority = p.acceptAny("LOW_PRIORITY", "CONCURRENT")
	if p.accept("FROM") { // 8.1's bulk load
		p.bad()
	}
	l.Local = p.accept("LOCAL")
	p.expect("INFILE")
	l.File = p.stringValue()
	l.Duplicates = p.acceptAny("REPLACE", "IGNORE")
	p.expect("INTO")
	p.expect("TABLE")
	l.Table = p.objectName()
	if p.is2("PARTITION", "(") {
		p.advance()
		l.Partitions = p.identList()
	}
	if p.accept2("CHARACTER", "SET") || p.accept("CHARSET") {
		l.Charset = p.lowerName()
	}
	if l.XML && p.accept2("ROWS", "IDENTIFIED") {
		p.expect("BY")
		p.stringValue()
	}
	l.Format = p.fileFormat()
	if p.accept("IGNORE") {
		l.IgnoreLines = p.limitValue()
		if p.acceptAny("LINES", "ROWS") == "" {
			p.bad()
		}
	}
	if p.is("(") {
		p.advance()
		for more := !p.is(")"); more; more = p.accept(",") {
			if p.tok.kind == tUserVar {
				l.Columns = append(l.Columns, &UserVar{p.at(), p.tok.str})
				p.advance()
			} else {
				l.Columns = append(l.Columns, p.columnRef())
			}
		}
		p.expect(")")
	}
	if p.accept("SET") {
		l.Set = p.assignments()
	}
	return l
}
