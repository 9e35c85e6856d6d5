package syntax

func (p *printer) table(t TableExpr) {
	switch t := t.(type) {
	case *TableName:
		p.tableName(t)
	case *Derived:
		p.opt(t.Lateral, "LATERAL ")
		p.w("(")
		p.query(t.Query)
		p.w(")")
		p.alias(t.Alias, t.Columns)
	case *TableFunc:
		p.opt(t.Lateral, "LATERAL ")
		p.name(t.Name)
		p.w("(")
		p.args(t.Args)
		p.w(")")
		p.opt(t.Ordinality, " WITH ORDINALITY")
		p.alias(t.Alias, t.Columns)
	case *Unnest:
		p.w("UNNEST")
		p.exprParens(t.Args)
		p.opt(t.Ordinality, " WITH ORDINALITY")
		p.alias(t.Alias, t.Columns)
	case *JSONTable:
		p.w("JSON_TABLE(")
		p.expr(t.Doc, 0)
		p.w(", ")
		p.expr(t.Path, 0)
		p.w(" ")
		p.jsonColumns(t.Columns)
		p.w(")")
		p.alias(t.Alias, nil)
	case *Join:
		p.join(t)
	}
}

func (p *printer) alias(a Ident, columns []Ident) {
	if a.Name == "" {
		return
	}
	p.w(" AS ")
	p.ident(a)
	if columns != nil {
		p.w(" ")
		p.identList(columns)
	}
}

func (p *printer) tableName(t *TableName) {
	p.name(t.Name)
	if t.Partitions != nil {
		p.w(" PARTITION ")
		p.identList(t.Partitions)
	}
	if t.AsOf != nil {
		p.w([]string{" AS OF ", " FOR VERSION AS OF ", " FOR TIMESTAMP AS OF ", " FOR SYSTEM_TIME AS OF "}[t.AsOf.Kind])
		p.expr(t.AsOf.Expr, precBitOr)
	}
	if t.Options != nil {
		p.w(" /*+ OPTIONS")
		p.hint = true
		p.options(t.Options)
		p.hint = false
		p.w(" */")
	}
	p.alias(t.Alias, t.Columns)
	if t.Sample != nil {
		p.w(" TABLESAMPLE ", t.Sample.Method, " (")
		p.expr(t.Sample.Percent, 0)
		p.w(")")
	}
	for _, h := range t.IndexHints {
		p.w(" ", h.Action, " INDEX ")
		if h.For != "" {
			p.w("FOR ", h.For, " ")
		}
		p.identList(h.Names)
	}
}

func (p *printer) join(j *Join) {
	l, ok := j.Left.(*Join)
	p.operandTable(j.Left, ok && l.Kind == JoinComma && j.Kind != JoinComma)
	natural := ""
	if j.Natural {
		natural = "NATURAL "
	}
	switch j.Kind {
	case JoinComma:
		p.w(", ")
	case JoinStraight:
		p.w(" STRAIGHT_JOIN ")
	case JoinCross:
		p.w(" CROSS JOIN ")
	case JoinLeft:
		p.w(" ", natural, "LEFT JOIN ")
	case JoinRight:
		p.w(" ", natural, "RIGHT JOIN ")
	case JoinFull:
		p.w(" ", natural, "FULL JOIN ")
	case JoinLeftSemi:
		p.w(" LEFT SEMI JOIN ")
	case JoinLeftAnti:
		p.w(" LEFT ANTI JOIN ")
	default:
		p.w(" ", natural, "JOIN ")
	}
	r, ok := j.Right.(*Join)
	p.operandTable(j.Right, ok && (j.Kind != JoinComma || r.Kind == JoinComma))
	switch {
	case j.On != nil:
		p.w(" ON ")
		p.expr(j.On, 0)
	case j.Using != nil:
		p.w(" USING ")
		p.identList(j.Using)
	}
}

func (p *printer) operandTable(t TableExpr, paren bool) {
	p.opt(paren, "(")
	p.table(t)
	p.opt(paren, ")")
}

func (p *printer) jsonColumns(list []*JSONColumn) {
	p.w("COLUMNS (")
	for i, c := range list {
		p.opt(i > 0, ", ")
		if c.Kind == JSONNested {
			p.w("NESTED PATH ")
			p.expr(c.Path, 0)
			p.w(" ")
			p.jsonColumns(c.Columns)
			continue
		}
		p.ident(c.Name)
		if c.Kind == JSONOrdinality {
			p.w(" FOR ORDINALITY")
			continue
		}
		p.w(" ")
		p.dataType(c.Type)
		if c.Type.Collate != "" {
			p.w(" COLLATE ", c.Type.Collate)
		}
		p.opt(c.Kind == JSONExists, " EXISTS")
		p.w(" PATH ")
		p.expr(c.Path, 0)
		p.jsonOn(c.OnEmpty, " ON EMPTY")
		p.jsonOn(c.OnError, " ON ERROR")
	}
	p.w(")")
}

func (p *printer) jsonOn(o *JSONOn, when string) {
	if o == nil {
		return
	}
	switch o.Kind {
	case JSONOnNull:
		p.w(" NULL")
	case JSONOnError:
		p.w(" ERROR")
	default:
		p.w(" DEFAULT ")
		p.expr(o.Default, precBitOr)
	}
	p.w(when)
}

func (p *printer) args(list []*Arg) {
	for i, a := range list {
		p.opt(i > 0, ", ")
		if a.Name.Name != "" {
			p.ident(a.Name)
			p.w(" => ")
		}
		p.expr(a.Value, 0)
	}
}
