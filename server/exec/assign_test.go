package exec_test

import (
	"strings"
	"testing"
)

// TestAssignLikeMySQL stores values as MySQL 9.7 stored them (server/mysql's
// TestStoredValuesLikeMySQL compares many more with a MySQL where there is one).
func TestAssignLikeMySQL(t *testing.T) {
	e := newEngine("db")
	for i, c := range []struct{ typ, value, want string }{
		{"INT", "2.5e0", "2"}, {"INT", "3.5e0", "4"}, {"INT", "2.5", "3"}, {"INT UNSIGNED", "-0.4", "!"}, {"INT", "x'0105'", "261"}, {"DOUBLE", "b'101'", "5"},
		{"DECIMAL(5,2)", "x'0105'", "261.00"}, {"INT", "CONCAT(x'31')", "1"},
		{"BIT(9)", "b'101'", "5"}, {"BIT(9)", "'A'", "65"}, {"BIT(9)", "5", "5"}, {"BIT(9)", "-1", "!"}, {"BIT(64)", "-1", "18446744073709551615"}, {"BIT(9)", "'ABC'", "!"}, {"BIT(9)", "x'0105'", "261"},
		{"YEAR", "0", "0000"}, {"YEAR", "'0'", "2000"}, {"YEAR", "'0000'", "0000"}, {"YEAR", "69", "2069"}, {"YEAR", "'70'", "1970"}, {"YEAR", "100", "!"}, {"YEAR", "1901", "1901"}, {"YEAR", "DATE '2024-01-02'", "2024"},
		{"CHAR(3)", "'ab  '", "ab"}, {"ENUM('a','B')", "2", "B"}, {"ENUM('a','B')", "'b'", "B"}, {"ENUM('a','B')", "0", "!"}, {"ENUM('a','B')", "3", "!"}, {"ENUM('a','B')", "1.9", "a"},
		{"ENUM('2','1') COLLATE utf8mb4_bin", "'1'", "1"}, {"ENUM('2','1')", "1", "2"}, {"ENUM('a','A') COLLATE utf8mb4_bin", "'A'", "A"}, {"ENUM('a') COLLATE utf8mb4_bin", "'A'", "!"}, {"ENUM('x','y')", "'2'", "y"},
		{"SET('x','y','Z')", "'y,x,y'", "x,y"}, {"SET('x','y','Z')", "6", "y,Z"}, {"SET('x','y','Z')", "'z,X'", "x,Z"}, {"SET('x','y','Z')", "8", "!"}, {"SET('x','y','Z')", "''", ""}, {"SET('x','y','Z')", "'x,q'", "!"},
	} {
		name := "db.t" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		e.must(t, "CREATE TABLE "+name+" (v "+c.typ+")")
		_, err := e.run("INSERT INTO " + name + " VALUES (" + c.value + ")")
		if err != nil {
			if c.want != "!" {
				t.Errorf("%s <- %s: %v", c.typ, c.value, err)
			}
			continue
		}
		read := "v"
		if strings.HasPrefix(c.typ, "BIT") {
			read = "v + 0"
		}
		got, err := e.run("SELECT " + read + " FROM " + name)
		if err != nil || len(got.rows) != 1 || got.rows[0][0] == nil || *got.rows[0][0] != c.want {
			t.Errorf("%s <- %s: %v %v, want %q", c.typ, c.value, got.rows, err, c.want)
		}
		// UPDATE, ON DUPLICATE KEY UPDATE and MERGE assign alike.
		if _, err := e.run("UPDATE " + name + " SET v = " + c.value); err != nil {
			t.Errorf("UPDATE %s = %s: %v", c.typ, c.value, err)
		}
		if again, err := e.run("SELECT " + read + " FROM " + name); err != nil || *again.rows[0][0] != c.want {
			t.Errorf("UPDATE %s = %s: %v %v", c.typ, c.value, again.rows, err)
		}
	}
}
