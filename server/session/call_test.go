package session

import (
	"strings"
	"testing"

	"github.com/thermocline/thermocline/internal/errs"
)

func TestCall(t *testing.T) {
	s := session(t, warehouse(t, "other"), OpenOptions{})
	script(t, s, `CREATE DATABASE d;
USE d;
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*T! WITH ('bucket'='1') */;
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, 2)`)
	want(t, s, "CALL sys.create_tag('d.t', 'one', 1)", "Success")
	want(t, s, "CALL paimon.sys.create_tag(`table` => 't', tag => CONCAT('tw', 'o'), snapshot_id => NULL, time_retained => '365 d')", "Success")
	want(t, s, "SELECT tag_name, snapshot_id FROM t$tags ORDER BY 1", "one|1\ntwo|2")
	want(t, s, "CALL sys.create_branch('d.t', 'b', 'one')", "Success")
	query(t, s, "INSERT INTO `t$branch_b` VALUES (9, 9)")
	want(t, s, "SELECT id FROM `t$branch_b` ORDER BY 1", "1\n9")
	want(t, s, "SELECT COUNT(*) FROM t", "2")
	query(t, s, "CALL sys.rollback_to(`table` => 'd.t', tag => 'one')")
	want(t, s, "SELECT id FROM t", "1")
	for q, kind := range map[string]errs.Kind{
		"CALL sys.creat_tag('d.t', 'x')":                        errs.UnknownProcedure,
		"CALL nosuch.sys.create_tag('d.t', 'x')":                errs.UnknownCatalog,
		"CALL d.create_tag('d.t', 'x')":                         errs.UnknownProcedure,
		"CALL sys.create_tag('d.t')":                            errs.WrongArguments,
		"CALL sys.create_tag('d.t', 'x', 'y')":                  errs.WrongArguments,
		"CALL sys.create_tag('d.t', 'x', 1, '1 d', 5, 6, 7, 8)": errs.WrongArgCount,
		"CALL sys.create_tag('d.t', tag => 'x', tag => 'y')":    errs.WrongArguments,
		"CALL sys.create_tag('d.t', 'x', `table` => 'd.t')":     errs.WrongArguments,
		"CALL sys.create_tag(`table` => 'd.t', 'x')":            errs.WrongArguments,
		"CALL sys.create_tag(`table` => 'd.t', nosuch => 1)":    errs.WrongArguments,
		"CALL sys.create_tag('d.t', nosuch)":                    errs.UnknownColumn,
		"CALL sys.create_tag('d.nosuch', 'x')":                  errs.UnknownTable,
	} {
		wantKind(t, s, q, kind)
	}
	if _, err := rows(t.Context(), s, "CALL sys.creat_tag('d.t', 'x')"); !strings.Contains(err.Error(), "did you mean 'create_tag'") {
		t.Error(err)
	}
}

func TestCallMerge(t *testing.T) {
	s := session(t, warehouse(t), OpenOptions{})
	script(t, s, `CREATE DATABASE dwd;
USE dwd;
CREATE TABLE order_detail (order_id BIGINT PRIMARY KEY, amount INT) /*T! WITH ('bucket'='1') */;
CREATE TABLE mysql_full_load (order_id BIGINT PRIMARY KEY, amount INT) /*T! WITH ('bucket'='1') */;
INSERT INTO order_detail VALUES (1, 10), (2, 20);
INSERT INTO mysql_full_load VALUES (2, 22), (3, 33)`)
	want(t, s, `CALL sys.merge_into(
    target_table => 'dwd.order_detail',
    source_table => 'mysql_full_load',
    merge_condition => 'dwd.order_detail.order_id = mysql_full_load.order_id',
    matched_upsert_setting => '*',
    not_matched_insert_values => '*'
)`, "Success")
	want(t, s, "SELECT * FROM order_detail ORDER BY 1", "1|10\n2|22\n3|33")
	want(t, s, "CALL sys.merge_into(target_table => 'dwd.order_detail', target_alias => 'x', source_table => 'mysql_full_load', merge_condition => 'x.order_id = mysql_full_load.order_id', "+
		"matched_delete_condition => 'mysql_full_load.amount > 30', matched_upsert_setting => 'amount = x.amount + mysql_full_load.amount')", "Success")
	want(t, s, "SELECT * FROM order_detail ORDER BY 1", "1|10\n2|44")
	wantKind(t, s, "CALL sys.merge_into('dwd.order_detail', '', '', 'mysql_full_load', '1) (', '', '*')", errs.WrongArguments)
}
