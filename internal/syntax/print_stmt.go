package syntax

import (
	"strings"
)

func (p *printer) statement(s Statement) {
	if p.ddl(s) || p.dml(s) || p.accounts(s) {
		return
	}
	switch s := s.(type) {
	case *SetVars:
		p.w("SET ")
		for i, it := range s.Items {
			p.opt(i > 0, ", ")
			p.setItem(it)
		}
	case *SetNames, *SetCharset, *SetList:
		p.w("SET ")
		p.setList(s)
	case *SetTransaction:
		p.w("SET ", scopeWord(s.Scope), "TRANSACTION ")
		if s.Isolation != "" {
			p.w("ISOLATION LEVEL ", strings.ReplaceAll(s.Isolation, "-", " "))
			p.opt(s.Access != "", ", ")
		}
		p.w(s.Access)
	case *SetOption:
		p.w("SET ")
		p.str(s.Key)
		p.w(" = ")
		p.str(s.Value)
	case *ShowSettings:
		p.w("SET")
	case *ResetOption:
		p.w("RESET")
		if s.Key != "" {
			p.w(" ")
			p.str(s.Key)
		}
	case *Show:
		p.show(s)
	case *Describe:
		p.w("DESCRIBE ")
		p.opt(s.Kind != "", s.Kind+" ")
		p.opt(s.Extended, "EXTENDED ")
		p.name(s.Name)
		switch {
		case s.HasPattern:
			p.w(" ")
			p.str(s.Pattern)
		case s.Column != "":
			p.w(" ", QuoteIdent(s.Column))
		}
	case *Explain:
		p.explain(s)
	case *Use:
		p.w("USE ")
		p.opt(s.Catalog, "CATALOG ")
		p.name(s.Name)
	case *Begin:
		p.begin(s)
	case *Commit:
		p.w("COMMIT")
		p.completion(s.Chain, s.NoChain, s.Release, s.NoRelease)
	case *Rollback:
		p.w("ROLLBACK")
		if s.To.Name != "" {
			p.w(" TO SAVEPOINT ")
			p.ident(s.To)
			return
		}
		p.completion(s.Chain, s.NoChain, s.Release, s.NoRelease)
	case *Savepoint:
		p.w("SAVEPOINT ")
		p.ident(s.Name)
	case *ReleaseSavepoint:
		p.w("RELEASE SAVEPOINT ")
		p.ident(s.Name)
	case *Kill:
		p.w("KILL ")
		p.opt(s.Query, "QUERY ")
		p.expr(s.ID, 0)
	case *Prepare:
		p.w("PREPARE ")
		p.ident(s.Name)
		p.w(" FROM ")
		switch {
		case s.Text != nil:
			p.expr(s.Text, 0)
		case s.Var != nil:
			p.expr(s.Var, 0)
		default:
			p.statement(s.Statement)
		}
	case *Execute:
		p.w("EXECUTE ")
		p.ident(s.Name)
		if s.Using != nil {
			p.w(" USING ")
			p.exprs(s.Using)
		}
	case *ExecuteImmediate:
		p.w("EXECUTE IMMEDIATE ")
		p.expr(s.Text, 0)
		if s.Using != nil {
			p.w(" USING ")
			p.exprs(s.Using)
		}
	case *Deallocate:
		p.w("DEALLOCATE PREPARE ")
		p.ident(s.Name)
	case *Call:
		p.w("CALL ")
		p.name(s.Name)
		if s.Args != nil {
			p.w("(")
			p.args(s.Args)
			p.w(")")
		}
	case *ExecutePipeline:
		p.w("EXECUTE PIPELINE WITHYAML (")
		p.str(s.YAML)
		p.w(")")
	case *PipelineControl:
		p.w(s.Action, " PIPELINE ")
		p.ifExists(s.IfExists)
		p.ident(s.Name)
	case *StatementSet:
		p.w("EXECUTE STATEMENT SET BEGIN ")
		for _, ins := range s.Inserts {
			p.statement(ins)
			p.w("; ")
		}
		p.w("END")
	case *LockTables:
		p.lockTables(s)
	case *UnlockTables:
		p.w("UNLOCK ")
		p.w(map[bool]string{true: "INSTANCE", false: "TABLES"}[s.Instance])
	case *TableMaintenance:
		p.maintenance(s)
	case *Flush:
		p.flush(s)
	case *Do:
		p.w("DO ")
		p.exprs(s.Exprs)
	case *Unsupported:
		p.w(s.Text)
	}
}

func (p *printer) begin(s *Begin) {
	if !s.ConsistentSnapshot && s.Access == "" {
		p.w("BEGIN")
		return
	}
	p.w("START TRANSACTION")
	p.opt(s.ConsistentSnapshot, " WITH CONSISTENT SNAPSHOT")
	p.opt(s.ConsistentSnapshot && s.Access != "", ",")
	p.opt(s.Access != "", " "+s.Access)
}

func (p *printer) completion(chain, noChain, release, noRelease bool) {
	p.opt(chain, " AND CHAIN")
	p.opt(noChain, " AND NO CHAIN")
	p.opt(release, " RELEASE")
	p.opt(noRelease, " NO RELEASE")
}

func (p *printer) explain(s *Explain) {
	p.w("EXPLAIN ")
	p.opt(s.Analyze, "ANALYZE ")
	p.opt(s.Extended, "EXTENDED ")
	p.opt(s.Partitions, "PARTITIONS ")
	if s.Format != "" {
		p.w("FORMAT = ")
		p.str(s.Format)
		p.w(" ")
	}
	if s.Into != nil {
		p.w("INTO ")
		p.expr(s.Into, 0)
		p.w(" ")
	}
	for i, d := range s.Details {
		p.opt(i > 0, ", ")
		p.w(d)
	}
	p.opt(s.Details != nil, " ")
	if s.Connection != nil {
		p.w("FOR CONNECTION ")
		p.expr(s.Connection, 0)
		return
	}
	if !s.Schema.IsZero() {
		p.w("FOR SCHEMA ")
		p.name(s.Schema)
		p.w(" ")
	}
	p.node(s.Statement)
}

func scopeWord(s VarScope) string {
	return []string{"", "SESSION ", "GLOBAL ", "PERSIST ", "PERSIST_ONLY "}[s]
}

func (p *printer) setItem(it *SetItem) {
	if v, ok := it.Var.(*SysVar); ok && v.Scope == ScopeNone && !strings.Contains(v.Name, ".") {
		p.w(QuoteIdent(v.Name))
	} else {
		p.expr(it.Var, 0)
	}
	p.w(" = ")
	if it.Value == nil {
		p.w("DEFAULT")
		return
	}
	p.expr(it.Value, 0)
}

func (p *printer) setList(s Statement) {
	switch s := s.(type) {
	case *SetVars:
		p.setItem(s.Items[0])
	case *SetNames:
		p.w("NAMES ")
		if s.Default {
			p.w("DEFAULT")
			return
		}
		p.str(s.Charset)
		if s.Collate != "" {
			p.w(" COLLATE ")
			p.str(s.Collate)
		}
	case *SetCharset:
		p.w("CHARACTER SET ")
		if s.Default {
			p.w("DEFAULT")
			return
		}
		p.str(s.Charset)
	case *SetList:
		for i, it := range s.Items {
			p.opt(i > 0, ", ")
			p.setList(it)
		}
	}
}

func (p *printer) show(s *Show) {
	p.w("SHOW ")
	p.opt(s.Extended, "EXTENDED ")
	p.opt(s.Full, "FULL ")
	p.w(scopeWord(s.Scope))
	p.opt(s.Count, "COUNT(*) ")
	switch s.Kind {
	case ShowColumns, ShowIndex:
		p.w(string(s.Kind), " FROM ")
		p.name(s.Table)
	case ShowCreateTable:
		p.w("CREATE ")
		p.opt(s.What != "", s.What+" ")
		p.w("TABLE ")
		p.name(s.Table)
	case ShowCreateView, ShowCreateCatalog, ShowPartitions, ShowProcedureCode, ShowFunctionCode:
		p.w(string(s.Kind), " ")
		p.name(s.Table)
	case ShowCreateOther:
		p.w("CREATE ", s.Type, " ")
		p.name(s.Table)
	case ShowCreateDatabase:
		p.w("CREATE DATABASE ")
		p.ifNotExists(s.IfNotExists)
		p.name(s.Database)
		return
	case ShowCreateUser:
		p.w("CREATE USER ")
		p.account(s.User)
	case ShowEngine:
		p.w("ENGINE ", QuoteIdent(s.Type), " ", s.What)
	case ShowGrants:
		p.w("GRANTS")
		if s.User != nil {
			p.w(" FOR ")
			p.account(s.User)
		}
		if s.Roles != nil {
			p.w(" USING ")
			p.accountList(s.Roles)
		}
	case ShowProfile:
		p.w("PROFILE")
		p.opt(s.What != "", " "+s.What)
		p.opt(s.Type != "", " FOR QUERY "+s.Type)
	case ShowBinlogEvents, ShowRelaylogEvents:
		p.w(string(s.Kind))
		if s.Type != "" {
			p.w(" IN ")
			p.str(s.Type)
		}
	case ShowReplicas:
		p.w("REPLICAS")
	case ShowFunctions:
		p.opt(s.What != "", s.What+" ")
		p.w("FUNCTIONS")
	default:
		p.w(string(s.Kind))
	}
	if !s.Database.IsZero() {
		p.w(" FROM ")
		p.name(s.Database)
	}
	if s.Spec != nil {
		p.w(" ")
		p.partitionSpec(s.Spec)
	}
	if s.Like != nil {
		p.w(" ", not(s.Not), "LIKE ")
		p.expr(s.Like, 0)
	}
	p.clause(" WHERE ", s.Where)
	p.limitClause(s.Limit)
}

func (p *printer) lockTables(s *LockTables) {
	if s.Instance {
		p.w("LOCK INSTANCE FOR BACKUP")
		return
	}
	p.w("LOCK TABLES ")
	for i, t := range s.Items {
		p.opt(i > 0, ", ")
		p.name(t.Name)
		p.alias(t.Alias, nil)
		p.w(" ", t.Mode)
	}
}

func (p *printer) maintenance(s *TableMaintenance) {
	p.w(s.Action, " ")
	p.opt(s.Local, "LOCAL ")
	p.w("TABLE ")
	p.names(s.Names)
	if s.Spec != nil {
		p.w(" ")
		p.partitionSpec(s.Spec)
	}
	if s.Histogram != "" {
		p.w(" ", s.Histogram, " HISTOGRAM ON ")
		p.columns(s.Columns)
	}
	for i, o := range s.Options {
		p.w(" ", o)
		if o == "COMPUTE STATISTICS" && i == 0 && s.Columns != nil {
			p.w(" FOR COLUMNS ")
			p.columns(s.Columns)
		}
		p.opt(o == "USING DATA", " ''")
	}
}

// columns writes a list of names without parentheses.
func (p *printer) columns(list []Ident) {
	for i, c := range list {
		p.opt(i > 0, ", ")
		p.ident(c)
	}
}

func (p *printer) flush(s *Flush) {
	p.w("FLUSH ")
	p.opt(s.Local, "LOCAL ")
	p.w(strings.Join(s.What, ", "))
	if s.Tables != nil {
		p.w(" ")
		p.names(s.Tables)
	}
	p.opt(s.WithReadLock, " WITH READ LOCK")
	p.opt(s.ForExport, " FOR EXPORT")
}

// dml writes the statements that change rows; false when s is another.
func (p *printer) dml(s Statement) bool {
	switch s := s.(type) {
	case *Query:
		p.query(s)
	case *Insert:
		p.insert(s)
	case *Update:
		p.withBefore(s.With)
		p.w("UPDATE ")
		p.opt(s.LowPriority, "LOW_PRIORITY ")
		p.opt(s.Ignore, "IGNORE ")
		p.table(s.Tables)
		p.w(" SET ")
		p.assignments(s.Set)
		p.dmlTail(s.Where, s.OrderBy, s.Limit)
	case *Delete:
		p.delete(s)
	case *Merge:
		p.merge(s)
	case *LoadData:
		p.load(s)
	default:
		return false
	}
	return true
}

func (p *printer) withBefore(w *With) {
	if w != nil {
		p.with(w)
		p.w(" ")
	}
}

func (p *printer) dmlTail(where Expr, order []*OrderItem, limit *Limit) {
	p.clause(" WHERE ", where)
	p.orderBy(order)
	p.limitClause(limit)
}

func (p *printer) assignments(list []*Assignment) {
	for i, a := range list {
		p.opt(i > 0, ", ")
		p.expr(a.Column, 0)
		p.w(" = ")
		p.expr(a.Value, 0)
	}
}

func (p *printer) insert(s *Insert) {
	p.withBefore(s.With)
	if s.Replace {
		p.w("REPLACE ")
	} else {
		p.w("INSERT ")
	}
	p.opt(s.Priority != "", s.Priority+" ")
	p.opt(s.Ignore, "IGNORE ")
	if s.Overwrite {
		p.w("OVERWRITE ")
	} else {
		p.w("INTO ")
	}
	p.table(s.Table)
	if s.Partition != nil {
		p.w(" ")
		p.partitionSpec(s.Partition)
	}
	if s.SetForm {
		p.w(" SET ")
		for i, c := range s.Columns {
			p.opt(i > 0, ", ")
			p.ident(c)
			p.w(" = ")
			p.expr(s.Rows[0][i], 0)
		}
	} else {
		if s.HasColumns {
			p.w(" ")
			p.identList(s.Columns)
		}
		if s.Query != nil {
			p.w(" ")
			p.query(s.Query)
		} else {
			p.w(" VALUES ")
			for i, r := range s.Rows {
				p.opt(i > 0, ", ")
				p.exprParens(r)
			}
		}
	}
	p.alias(s.RowAlias, s.ColAliases)
	if s.OnDuplicate != nil {
		p.w(" ON DUPLICATE KEY UPDATE ")
		p.assignments(s.OnDuplicate)
	}
	p.returning(s.Returning)
}

func (p *printer) returning(list []*SelectItem) {
	for i, it := range list {
		if i == 0 {
			p.w(" RETURNING ")
		} else {
			p.w(", ")
		}
		p.item(it)
	}
}

func (p *printer) delete(s *Delete) {
	p.withBefore(s.With)
	p.w("DELETE ")
	p.opt(s.LowPriority, "LOW_PRIORITY ")
	p.opt(s.Quick, "QUICK ")
	p.opt(s.Ignore, "IGNORE ")
	switch {
	case s.Using:
		p.w("FROM ")
		p.names(s.Targets)
		p.w(" USING ")
	case s.Targets != nil:
		p.names(s.Targets)
		p.w(" FROM ")
	default:
		p.w("FROM ")
	}
	if t, ok := s.From.(*TableName); ok && s.Targets == nil && t.Partitions != nil {
		// Here, unlike elsewhere, the partitions follow the alias.
		c := *t
		c.Partitions = nil
		p.table(&c)
		p.w(" PARTITION ")
		p.identList(t.Partitions)
	} else {
		p.table(s.From)
	}
	p.dmlTail(s.Where, s.OrderBy, s.Limit)
	p.returning(s.Returning)
}

func (p *printer) merge(s *Merge) {
	p.withBefore(s.With)
	p.w("MERGE INTO ")
	p.table(s.Into)
	p.w(" USING ")
	_, join := s.Source.(*Join)
	p.operandTable(s.Source, join)
	p.w(" ON ")
	p.expr(s.On, 0)
	for _, w := range s.Whens {
		p.w(" WHEN ", not(!w.Matched), "MATCHED")
		p.opt(w.BySource, " BY SOURCE")
		p.clause(" AND ", w.And)
		p.w(" THEN ")
		switch w.Action {
		case MergeUpdate:
			p.w("UPDATE SET ")
			if w.All {
				p.w("*")
			} else {
				p.assignments(w.Set)
			}
		case MergeDelete:
			p.w("DELETE")
		case MergeDoNothing:
			p.w("DO NOTHING")
		default:
			p.w("INSERT ")
			if w.All {
				p.w("*")
				break
			}
			if w.Columns != nil {
				p.identList(w.Columns)
				p.w(" ")
			}
			p.w("VALUES ")
			p.exprParens(w.Values)
		}
	}
}

func (p *printer) load(s *LoadData) {
	p.w("LOAD ")
	p.w(map[bool]string{true: "XML ", false: "DATA "}[s.XML])
	p.opt(s.Priority != "", s.Priority+" ")
	p.opt(s.Local, "LOCAL ")
	p.w("INFILE ")
	p.str(s.File)
	p.opt(s.Duplicates != "", " "+s.Duplicates)
	p.w(" INTO TABLE ")
	p.name(s.Table)
	if s.Partitions != nil {
		p.w(" PARTITION ")
		p.identList(s.Partitions)
	}
	p.charset(" CHARACTER SET ", s.Charset)
	p.fileFormat(s.Format)
	if s.IgnoreLines != nil {
		p.w(" IGNORE ")
		p.expr(s.IgnoreLines, 0)
		p.w(" LINES")
	}
	if s.Columns != nil {
		p.w(" ")
		p.exprParens(s.Columns)
	}
	if s.Set != nil {
		p.w(" SET ")
		p.assignments(s.Set)
	}
}
