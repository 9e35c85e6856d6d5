package syntax

import "strconv"

func (p *printer) partitionBy(b *PartitionBy, sub bool) {
	p.w("BY ")
	p.opt(b.Linear, "LINEAR ")
	p.w(b.Kind)
	if b.Algorithm != 0 {
		p.w(" ALGORITHM = ", strconv.Itoa(b.Algorithm))
	}
	if b.Expr != nil {
		p.w(" (")
		p.expr(b.Expr, 0)
		p.w(")")
	} else {
		p.w(" ")
		p.identList(b.Columns)
	}
	if b.Count > 0 {
		p.opt(sub, " SUBPARTITIONS ")
		p.opt(!sub, " PARTITIONS ")
		p.w(strconv.Itoa(b.Count))
	}
	if b.Sub != nil {
		p.w(" SUBPARTITION ")
		p.partitionBy(b.Sub, true)
	}
	if b.Partitions != nil {
		p.w(" ")
		p.partitionDefs(b.Partitions, "PARTITION ")
	}
}

func (p *printer) partitionDefs(list []*PartitionDef, word string) {
	p.w("(")
	for i, d := range list {
		p.opt(i > 0, ", ")
		p.w(word)
		p.ident(d.Name)
		switch {
		case d.MaxValue:
			p.w(" VALUES LESS THAN MAXVALUE")
		case d.LessThan != nil:
			p.w(" VALUES LESS THAN ")
			p.partitionValues(d.LessThan)
		case d.In != nil:
			p.w(" VALUES IN ")
			p.partitionValues(d.In)
		}
		for _, o := range d.Options {
			p.w(" ")
			p.tableOption(o)
		}
		if d.Subs != nil {
			p.w(" ")
			p.partitionDefs(d.Subs, "SUBPARTITION ")
		}
	}
	p.w(")")
}

func (p *printer) partitionValues(list []Expr) {
	p.w("(")
	for i, e := range list {
		p.opt(i > 0, ", ")
		if e == nil {
			p.w("MAXVALUE")
		} else {
			p.expr(e, 0)
		}
	}
	p.w(")")
}

func (p *printer) place(c ColumnPlace) {
	p.opt(c.First, " FIRST")
	if c.After.Name != "" {
		p.w(" AFTER ")
		p.ident(c.After)
	}
}

// elements writes the columns, keys and watermarks of ADD and MODIFY.
func (p *printer) elements(parens bool, cols []*ColumnDef, places []ColumnPlace, keys []*TableConstraint, marks []*Watermark) {
	p.opt(parens, "(")
	n := 0
	sep := func() {
		p.opt(n > 0, ", ")
		n++
	}
	for i, c := range cols {
		sep()
		p.column(c)
		if i < len(places) {
			p.place(places[i])
		}
	}
	for _, k := range keys {
		sep()
		p.constraint(k)
	}
	for _, w := range marks {
		sep()
		p.watermark(w)
	}
	p.opt(parens, ")")
}

func (p *printer) alterAction(a AlterAction) {
	switch a := a.(type) {
	case *AddColumns:
		p.w("ADD ")
		p.opt(len(a.Columns) > 0 && !a.Parens, "COLUMN ")
		p.ifNotExists(a.IfNotExists)
		p.elements(a.Parens, a.Columns, a.Places, a.Constraints, a.Watermarks)
	case *ModifyColumns:
		p.w("MODIFY ")
		p.opt(len(a.Columns) > 0 && !a.Parens, "COLUMN ")
		p.ifExists(a.IfExists)
		p.elements(a.Parens, a.Columns, a.Places, a.Constraints, a.Watermarks)
	case *DropColumns:
		p.w("DROP COLUMN ")
		p.ifExists(a.IfExists)
		p.opt(len(a.Names) > 1, "(")
		for i, n := range a.Names {
			p.opt(i > 0, ", ")
			if i < len(a.In) {
				p.around(a.In[i])
			}
			p.ident(n)
		}
		p.opt(len(a.Names) > 1, ")")
	case *ChangeColumn:
		p.w("CHANGE COLUMN ")
		p.ifExists(a.IfExists)
		p.around(a.In)
		p.ident(a.Old)
		p.w(" ")
		p.column(a.Column)
		p.place(a.Place)
	case *RenameColumn:
		p.w("RENAME COLUMN ")
		p.around(a.In)
		p.ident(a.Old)
		p.w(" TO ")
		p.ident(a.New)
	case *AlterColumnDefault:
		p.w("ALTER COLUMN ")
		p.around(a.In)
		p.ident(a.Name)
		switch {
		case a.DropDefault:
			p.w(" DROP DEFAULT")
		case a.Visibility != "":
			p.w(" SET ", a.Visibility)
		default:
			p.w(" SET DEFAULT ")
			p.defaultValue(a.Default)
		}
	case *RenameTo:
		p.w("RENAME TO ")
		p.name(a.Name)
	case *AddConstraint:
		p.w("ADD ")
		p.constraint(a.Constraint)
	case *DropConstraint:
		p.w("DROP ", a.Kind)
		p.opt(a.IfExists, " IF EXISTS")
		if a.Name.Name != "" {
			p.w(" ")
			p.ident(a.Name)
		}
	case *SetTableOptions:
		for i, o := range a.Options {
			p.opt(i > 0, " ")
			p.tableOption(o)
		}
	case *SetOptions:
		p.w("SET ")
		p.options(a.Options)
	case *ResetOptions:
		p.w("RESET ")
		p.keys(a.Keys)
	case *AlterPartitions:
		if a.Drop {
			p.w("DROP ")
			p.ifExists(a.IfExists)
		} else {
			p.w("ADD ")
			p.ifNotExists(a.IfExists)
		}
		for i, s := range a.Specs {
			p.opt(i > 0, ", ")
			p.partitionSpec(s)
		}
	case *AlterMaterialized:
		p.w(a.What)
		if a.Query != nil {
			p.w(" ")
			p.query(a.Query)
		}
		if a.Spec != nil {
			p.w(" ")
			p.partitionSpec(a.Spec)
		}
		if a.With != nil {
			p.w(" WITH ")
			p.options(a.With)
		}
	case *AlterOther:
		p.w(a.Text)
	}
}

// around prints the columns and members that a member of a ROW is in.
func (p *printer) around(in []Ident) {
	for _, n := range in {
		p.ident(n)
		p.w(".")
	}
}

func (p *printer) partitionSpec(s *PartitionSpec) {
	p.w("PARTITION (")
	for i, it := range s.Items {
		p.opt(i > 0, ", ")
		p.ident(it.Name)
		if it.Value != nil {
			p.w(" = ")
			p.expr(it.Value, 0)
		}
	}
	p.w(")")
}
