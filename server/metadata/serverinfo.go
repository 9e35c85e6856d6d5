package metadata

import (
	"context"
	_ "embed"
	"slices"
	"strings"
)

func charsetRows(_ context.Context, _ Source, _ wanted, add func(Row) error) error {
	for _, c := range Charsets() {
		if err := add(Row{c.Name, c.DefaultCollation, c.Description, int64(c.MaxLen)}); err != nil {
			return err
		}
	}
	return nil
}

// collations lists the collations as rows of COLLATIONS.
func collations() []Row {
	out := make([]Row, 0, len(Collations()))
	for _, c := range Collations() {
		def, pad := "", "NO PAD"
		if c.Default {
			def = "Yes"
		}
		if c.PadSpace {
			pad = "PAD SPACE"
		}
		out = append(out, Row{c.Name, c.Charset, c.ID, def, "Yes", int64(c.SortLen), pad})
	}
	return out
}

// fixed produces rows that are always the same.
func fixed(rows []Row) producer {
	return func(_ context.Context, _ Source, _ wanted, add func(Row) error) error {
		for _, r := range rows {
			if err := add(r); err != nil {
				return err
			}
		}
		return nil
	}
}

func applicabilityRows(_ context.Context, _ Source, _ wanted, add func(Row) error) error {
	for _, c := range Collations() {
		if err := add(Row{c.Name, c.Charset}); err != nil {
			return err
		}
	}
	return nil
}

func collationRows(ctx context.Context, src Source, want wanted, add func(Row) error) error {
	return fixed(collations())(ctx, src, want, add)
}

// engines are the storage engines.
var engines = []Row{
	{"Paimon", "DEFAULT", "Apache Paimon tables of the lake", "NO", "NO", "NO"},
	{"MEMORY", "YES", "Tables in memory", "NO", "NO", "NO"},
	{"PERFORMANCE_SCHEMA", "YES", "State of the server", "NO", "NO", "NO"},
	{"InnoDB", "NO", "Accepted in CREATE TABLE and ignored", nil, nil, nil},
}

func pluginRows(_ context.Context, _ Source, _ wanted, add func(Row) error) error {
	for _, p := range []string{"mysql_native_password", "caching_sha2_password"} {
		if err := add(Row{p, "1.0", "ACTIVE", "AUTHENTICATION", "2.1", nil, nil, "Thermocline", "Password authentication", "Apache-2.0", "FORCE"}); err != nil {
			return err
		}
	}
	return nil
}

//go:embed data/keywords.txt
var keywordsText string

// Keywords calls f for every keyword of MySQL's grammar.
func Keywords(f func(word string, reserved bool)) {
	for _, w := range strings.Fields(keywordsText) {
		word, reserved := strings.CutSuffix(w, "*")
		f(word, reserved)
	}
}

func keywordRows(_ context.Context, _ Source, _ wanted, add func(Row) error) (err error) {
	Keywords(func(word string, reserved bool) {
		if err == nil {
			err = add(Row{word, reserved})
		}
	})
	return err
}

func processlistRows(_ context.Context, src Source, _ wanted, add func(Row) error) error {
	for _, p := range src.Processes() {
		if err := add(Row{uint64(p.ID), p.User, p.Host, orNil(p.Database), p.Command, p.Seconds, p.State, orNil(p.Info)}); err != nil {
			return err
		}
	}
	return nil
}

func psProcesslistRows(_ context.Context, src Source, _ wanted, add func(Row) error) error {
	for _, p := range src.Processes() {
		if err := add(Row{uint64(p.ID), p.User, p.Host, orNil(p.Database), p.Command, p.Seconds, p.State, orNil(p.Info), "PRIMARY"}); err != nil {
			return err
		}
	}
	return nil
}

func connectAttributeRows(_ context.Context, src Source, _ wanted, add func(Row) error) error {
	for _, p := range src.Processes() {
		names := make([]string, 0, len(p.Attrs))
		for n := range p.Attrs {
			names = append(names, n)
		}
		slices.Sort(names)
		for i, n := range names {
			if err := add(Row{uint64(p.ID), n, p.Attrs[n], int64(i)}); err != nil {
				return err
			}
		}
	}
	return nil
}

func variableRows(scope VariableScope) producer {
	return func(_ context.Context, src Source, _ wanted, add func(Row) error) error {
		for _, v := range src.Variables(scope) {
			if err := add(Row{v.Name, v.Value}); err != nil {
				return err
			}
		}
		return nil
	}
}

func statusRows(scope VariableScope) producer {
	return func(_ context.Context, src Source, _ wanted, add func(Row) error) error {
		for _, v := range src.Status(scope) {
			if err := add(Row{v.Name, v.Value}); err != nil {
				return err
			}
		}
		return nil
	}
}

func sysVersionRows(_ context.Context, _ Source, _ wanted, add func(Row) error) error {
	return add(Row{"2.1.2", ServerVersion})
}

// grantee is an account as the privilege tables write it.
func grantee(i Identity) string { return "'" + i.User + "'@'" + i.Host + "'" }

// seen returns the accounts that the session may see: its own, or all with
// SELECT on the mysql database.
func seen(src Source) []AccountInfo {
	all := src.Accounts().List()
	if src.Allowed(Select, MySQLDatabase, "") {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(a AccountInfo) bool { return a.Identity != src.Who().Identity })
}

// eachPrivilege calls f with the name of each right in p, USAGE for none.
func eachPrivilege(p Privilege, f func(name, grantable string) error) error {
	grantable := yesNo(p&GrantOption != 0)
	p &^= GrantOption
	if p == 0 {
		return f("USAGE", grantable)
	}
	for _, n := range privilegeNames {
		if p&n.p != 0 {
			if err := f(n.name, grantable); err != nil {
				return err
			}
		}
	}
	return nil
}

func userPrivilegeRows(_ context.Context, src Source, _ wanted, add func(Row) error) error {
	for _, a := range seen(src) {
		err := eachPrivilege(a.Global, func(name, grantable string) error { return add(Row{grantee(a.Identity), "def", name, grantable}) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Name is the database as clients see it: "db", or "catalog.db" in another catalog
// than the default one.
func (o Object) Name() string {
	if o.Catalog != "" {
		return o.Catalog + "." + o.Database
	}
	return o.Database
}

func sortedObjects(m map[Object]Privilege) []Object {
	var out []Object
	for o := range m {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Object) int {
		return strings.Compare(a.Name()+"\x00"+a.Table, b.Name()+"\x00"+b.Table)
	})
	return out
}

func schemaPrivilegeRows(_ context.Context, src Source, _ wanted, add func(Row) error) error {
	for _, a := range seen(src) {
		for _, o := range sortedObjects(a.Databases) {
			err := eachPrivilege(a.Databases[o], func(name, grantable string) error {
				return add(Row{grantee(a.Identity), "def", o.Name(), name, grantable})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func tablePrivilegeRows(_ context.Context, src Source, _ wanted, add func(Row) error) error {
	for _, a := range seen(src) {
		for _, o := range sortedObjects(a.Tables) {
			err := eachPrivilege(a.Tables[o], func(name, grantable string) error {
				return add(Row{grantee(a.Identity), "def", o.Name(), o.Table, name, grantable})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func userAttributeRows(_ context.Context, src Source, _ wanted, add func(Row) error) error {
	for _, a := range seen(src) {
		if err := add(Row{a.User, a.Host, nil}); err != nil {
			return err
		}
	}
	return nil
}

// mysqlUserPrivileges are the privilege columns of mysql.user.
var mysqlUserPrivileges = map[string]Privilege{
	"Select_priv": Select, "Insert_priv": Insert, "Update_priv": Update, "Delete_priv": Delete, "Create_priv": Create, "Drop_priv": Drop,
	"Reload_priv": Reload, "Shutdown_priv": Shutdown, "Process_priv": Process, "File_priv": File, "Grant_priv": GrantOption,
	"References_priv": References, "Index_priv": Index, "Alter_priv": Alter, "Show_db_priv": SeeDatabases, "Super_priv": Super,
	"Create_tmp_table_priv": CreateTemporaryTables, "Lock_tables_priv": LockTables, "Execute_priv": Execute,
	"Repl_slave_priv": ReplicationSlave, "Repl_client_priv": ReplicationClient, "Create_view_priv": CreateView, "Show_view_priv": ShowView,
	"Create_routine_priv": CreateRoutine, "Alter_routine_priv": AlterRoutine, "Create_user_priv": CreateUser, "Event_priv": Event,
	"Trigger_priv": Trigger, "Create_tablespace_priv": CreateTablespace, "Create_role_priv": CreateRole, "Drop_role_priv": DropRole,
}

func mysqlUserRows(_ context.Context, src Source, _ wanted, add func(Row) error) error {
	fields := systemTables()[MySQLDatabase]["user"]
	yn := func(b bool) string {
		if b {
			return "Y"
		}
		return "N"
	}
	for _, a := range src.Accounts().List() {
		row := make(Row, len(fields))
		for i, f := range fields {
			switch f.Name {
			case "Host":
				row[i] = a.Host
			case "User":
				row[i] = a.User
			case "plugin":
				row[i] = a.Plugin
			case "authentication_string":
				row[i] = a.Hash
			case "account_locked":
				row[i] = yn(a.Locked)
			case "password_expired":
				row[i] = "N"
			case "ssl_type", "ssl_cipher", "x509_issuer", "x509_subject":
				row[i] = ""
			default:
				if p, ok := mysqlUserPrivileges[f.Name]; ok {
					row[i] = yn(a.Global&p != 0)
				} else if f.NotNull {
					row[i] = int64(0)
				}
			}
		}
		if err := add(row); err != nil {
			return err
		}
	}
	return nil
}
