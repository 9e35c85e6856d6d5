package mysql

import "testing"

// Aggregates and groups of casts that differ in length or precision only are different
// ones: the answers are MySQL 9.7's.
func TestCastsOfOtherLengthsAreOthers(t *testing.T) {
	w := dialWire(t, lakePort(t), "")
	w.must("CREATE DATABASE casts", "USE casts", "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20), n INT)", "INSERT INTO t VALUES (1, 'abcd', 1234), (2, 'abce', 5), (3, 'b', NULL)")
	for q, want := range map[string]string{
		"SELECT MAX(CAST(s AS CHAR(1))), MIN(CAST(s AS CHAR(2))), MIN(CAST(s AS CHAR)) FROM t":                                    "b ab abcd",
		"SELECT HEX(MIN(CAST(s AS BINARY(3)))), HEX(MIN(CAST(s AS BINARY))), HEX(MAX(CAST(s AS BINARY(2)))) FROM t":               "616263 61626364 6200",
		"SELECT COUNT(DISTINCT CAST(s AS CHAR(3))), COUNT(DISTINCT CAST(s AS CHAR(4))) FROM t":                                    "2 3",
		"SELECT MAX(CAST(n AS DECIMAL(3,1))), MAX(CAST(n AS DECIMAL(5,1))) FROM t":                                                "99.9 1234.0",
		"SELECT HEX(BIT_OR(CAST(s AS BINARY(2)))), HEX(BIT_AND(CAST(s AS BINARY(1)))), HEX(BIT_XOR(CAST(s AS BINARY(3)))) FROM t": "6362 60 620000",
		"SELECT HEX(BIT_OR(CAST(s AS BINARY(2)))), HEX(BIT_AND(CAST(s AS BINARY(1)))) FROM t WHERE id > 9":                        "0000 FF",
	} {
		res, err := w.query(q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		got := ""
		for i, c := range res.rows[0] {
			if i > 0 {
				got += " "
			}
			got += *c
		}
		if got != want {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
	// A select list that casts to more characters than GROUP BY is not grouped by it.
	if _, err := w.query("SELECT CAST(s AS CHAR(2)) FROM t GROUP BY CAST(s AS CHAR(1))"); err == nil {
		t.Error("CAST(s AS CHAR(2)) passes for the group's CAST(s AS CHAR(1))")
	}
}
