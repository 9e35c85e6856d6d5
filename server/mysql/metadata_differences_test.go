package mysql

import "strings"

// metadataDifferences are the columns that are told otherwise than by MySQL on
// purpose, by id, with the reason. One that is told as MySQL tells it may not
// stay here: the tests fail.
var metadataDifferences = map[string]string{}

func init() {
	for reason, ids := range map[string]string{
		"a user variable without a value is NULL; MySQL takes it for a text of at most 65532 bytes": `
			expression-35`,
		"a BIT beside NULL or a number is shown as its bytes or its number; MySQL shows either the other way round": `
			expression-177 expression-179`,
		"the value of a row that MySQL happened to read first or last": `
			expression-359 expression-360`,
		"a decimal column shows all its fraction digits; MySQL shows those of the value that LEAD falls back to": `
			expression-368`,
		"JSON functions may give NULL for all that their types say": `
			expression-545 function-460`,
		"the text of the version is another; there is no ICU": `
			expression-546 function-467`,
		"GET_LOCK and RELEASE_LOCK are refused by name: a lock of one server of several would lock nothing": `
			expression-561 expression-562`,
		"MD5 of a number is that of its text, as in MySQL 8; 9.7 has MD5 in a component that takes texts only": `
			function-204`,
		"there are no roles, so that CURRENT_ROLE is short": `
			function-466`,
		"ANY_VALUE of an ENUM is a CHAR, as in a subquery": `
			function-609`,
		"a comparison with ALL and a subquery of a set operation may be NULL for all that their types say": `
			function-648 function-652`,
		"the length of a TEXT that came out of a set operation is multiplied by four once, not by every layer": `
			function-691`,
		"the flag BINARY of a number tells that MySQL read an index and needed no temporary table for GROUP BY": `
			function-701`,
		"FOR ORDINALITY is an INT, as MySQL's manual says": `
			function-726`,
		"GREATEST of BIT, of dates and JSON, and of dates and texts that are none is refused": `
			pair-430-greatest pair-451-greatest pair-499-greatest pair-504-greatest pair-565-greatest pair-570-greatest pair-585-greatest
			pair-590-greatest pair-604-greatest pair-609-greatest pair-622-greatest pair-627-greatest`,
		"a FLOAT(M,D) or DOUBLE(M,D) column keeps the digits that it was given, and shows D of them": `
			column-c_float_7_3-binary column-c_double_10_4-binary`,
		"lake tables have no columns of the types POINT and VECTOR(n)": `
			column-c_point column-c_vector`,
		"lake tables compute no columns and no defaults; ZEROFILL is not kept": `
			column-c_generated column-c_generated-binary column-c_stored column-c_stored-binary column-c_expr_default column-c_expr_default-binary
			column-c_zerofill column-c_zerofill-binary`,
		"the table has no columns of the types POINT and VECTOR(n)": `
			prepared-10-columns`,
		"a parameter is called ?, whatever it is selected as": `
			prepared-25-params prepared-26-params prepared-27-params prepared-137-params`,
		"a parameter of a derived table is told as what is selected, not as a column of a temporary table": `
			prepared-26-columns prepared-27-columns`,
		"columns of a set operation are told as when it runs; MySQL tells of them as expressions before": `
			prepared-28-columns prepared-137-columns prepared-138-columns`,
		"lengths and decimals of SHOW's texts; see kind": `
			prepared-30-columns prepared-32-columns`,
		"BEGIN and USE can be prepared": `
			prepared-40 prepared-42`,
		"MySQL counts a parameter that is compared with ASCII text, or converted, in characters of another size": `
			prepared-88-params prepared-150-params prepared-150-columns`,
		"a parameter that is a condition is a number, as in WHERE": `
			prepared-108-params`,
		"a parameter beside SUM's in a select list is told as a number, too": `
			prepared-128-params`,
		"a parameter that is shifted or complemented is a number; MySQL takes it for bytes": `
			prepared-116-params prepared-116-columns`,
		"REPLACE with parameters: the length grows by every other character, as for values": `
			prepared-121-columns`,
		"the parameters of LAG and NTILE, and of SELECT in INSERT, have no type before they have values": `
			prepared-130-params prepared-130-columns prepared-131-params prepared-145-params`,
		"MySQL 9.7 has MD5 in a component; SHA2 and COLLATE do not change a parameter's collation": `
			prepared-148-params prepared-148-columns prepared-149-params`,
		"another account": `
			show-47-1 show-48-1`,
		"there are no triggers, no profiles, no binary log and no replicas": `
			show-55-6 show-59 show-63 show-64-2`,
		"SHOW MASTER STATUS is understood, as by MySQL 8.0": `
			show-61`,
		"EXPLAIN has MySQL 8.0's table when no format is named, in its own types": `
			show-65 show-66-10 show-66-11 show-66-12 show-67-1 show-68-1`,
		"refused by name": `
			show-69 show-70 show-71 show-72`,
		"a text that MySQL has in another length": `
			show-87-2 show-97-4`,
		"GREATEST of JSON is told as a LONGTEXT; MySQL has a VARCHAR of 4 GB": `
			pair-760-greatest pair-761-greatest`,
	} {
		for _, id := range strings.Fields(ids) {
			metadataDifferences[id] = reason
		}
	}
}
