package mysql

// metadataDifferences are the columns that are told otherwise than by MySQL on
// purpose, by id. One that is told as MySQL tells it may not stay here: the tests
// fail.
var metadataDifferences = differences{}

func init() {
	add := metadataDifferences.because
	port := func(paragraph string) source { return document{"mysql-port.md", paragraph} }
	add("a user variable without a value is NULL; MySQL takes it for a text of at most 65532 bytes",
		manual{"11.4", "User-Defined Variables"}, `
			expression-35`)
	add("a BIT beside NULL or a number is shown as its bytes or its number; MySQL shows either the other way round",
		port("BIT beside other values"), `
			expression-177 expression-179`)
	add("the value of a row that MySQL happened to read first or last",
		manual{"14.19.3", "MySQL Handling of GROUP BY"}, `
			expression-359 expression-360`)
	add("a decimal column shows all its fraction digits; MySQL shows those of the value that LEAD falls back to",
		manual{"13.1.3", "Fixed-Point Types (Exact Value) - DECIMAL, NUMERIC"}, `
			expression-368`)
	add("JSON functions may give NULL for all that their types say",
		port("NULL flags"), `
			expression-545 function-460`)
	add("the text of the version is another; there is no ICU",
		port("Version and account"), `
			expression-546 function-467`)
	add("GET_LOCK and RELEASE_LOCK are refused by name: a lock of one server of several would lock nothing",
		document{"functions.md", "Refused by name"}, `
			expression-561 expression-562`)
	add("MD5 of a number is that of its text, as in MySQL 8; 9.7 has MD5 in a component that takes texts only",
		port("MD5"), `
			function-204`)
	add("there are no roles, so that CURRENT_ROLE is short",
		port("Version and account"), `
			function-466`)
	add("ANY_VALUE of an ENUM is a CHAR, as in a subquery",
		port("ANY_VALUE of ENUM"), `
			function-609`)
	add("a comparison with ALL and a subquery of a set operation may be NULL for all that their types say",
		port("NULL flags"), `
			function-648 function-652`)
	add("the length of a TEXT that came out of a set operation is multiplied by four once, not by every layer",
		port("Lengths of texts"), `
			function-691`)
	add("the flag BINARY of a number tells that MySQL read an index and needed no temporary table for GROUP BY",
		port("Flags of MySQL's plans"), `
			function-701`)
	add("FOR ORDINALITY is an INT, as MySQL's manual says",
		manual{"14.17.6", "JSON Table Functions"}, `
			function-726`)
	add("GREATEST of BIT, of dates and JSON, and of dates and texts that are none is refused",
		port("BIT beside other values"), `
			pair-430-greatest pair-451-greatest`)
	add("lake tables have no columns of the types POINT and VECTOR(n)",
		port("Column types"), `
			column-c_point column-c_vector`)
	add("lake tables compute no columns and no defaults; ZEROFILL is not kept",
		port("Column types"), `
			column-c_generated column-c_generated-binary column-c_stored column-c_stored-binary column-c_expr_default column-c_expr_default-binary
			column-c_zerofill column-c_zerofill-binary`)
	add("the table has no columns of the types POINT and VECTOR(n)",
		port("Column types"), `
			prepared-10-columns`)
	add("a parameter is called ?, whatever it is selected as",
		port("Parameters"), `
			prepared-25-params prepared-26-params prepared-27-params prepared-137-params`)
	add("a parameter of a derived table is told as what is selected, not as a column of a temporary table",
		port("Parameters"), `
			prepared-26-columns prepared-27-columns`)
	add("columns of a set operation are told as when it runs; MySQL tells of them as expressions before",
		port("Parameters"), `
			prepared-28-columns prepared-137-columns prepared-138-columns`)
	add("lengths and decimals of SHOW's texts; see kind",
		port("Lengths of texts"), `
			prepared-30-columns prepared-32-columns`)
	add("BEGIN and USE can be prepared",
		port("Statements to prepare"), `
			prepared-40 prepared-42`)
	add("MySQL counts a parameter that is compared with ASCII text, or converted, in characters of another size",
		port("Parameters"), `
			prepared-88-params prepared-150-params prepared-150-columns`)
	add("a parameter that is a condition is a number, as in WHERE",
		port("Parameters"), `
			prepared-108-params`)
	add("a parameter beside SUM's in a select list is told as a number, too",
		port("Parameters"), `
			prepared-128-params`)
	add("a parameter that is shifted or complemented is a number; MySQL takes it for bytes",
		port("Parameters"), `
			prepared-116-params prepared-116-columns`)
	add("REPLACE with parameters: the length grows by every other character, as for values",
		port("Parameters"), `
			prepared-121-columns`)
	add("the parameters of LAG and NTILE, and of SELECT in INSERT, have no type before they have values",
		port("Parameters"), `
			prepared-130-params prepared-130-columns prepared-131-params prepared-145-params`)
	add("MySQL 9.7 has MD5 in a component; SHA2 and COLLATE do not change a parameter's collation",
		port("MD5"), `
			prepared-148-params prepared-148-columns prepared-149-params`)
	add("another account",
		port("Version and account"), `
			show-47-1 show-48-1`)
	add("there are no triggers, no profiles, no binary log and no replicas",
		port("SHOW and EXPLAIN"), `
			show-55-6 show-59 show-63 show-64-2`)
	add("SHOW MASTER STATUS is understood, as by MySQL 8.0",
		port("SHOW and EXPLAIN"), `
			show-61`)
	add("EXPLAIN has MySQL 8.0's table when no format is named, in its own types",
		port("SHOW and EXPLAIN"), `
			show-65 show-66-10 show-66-11 show-66-12 show-67-1 show-68-1`)
	add("refused by name",
		port("SHOW and EXPLAIN"), `
			show-69 show-70 show-71 show-72`)
	add("a text that MySQL has in another length",
		port("Lengths of texts"), `
			show-87-2 show-97-4`)
	add("GREATEST of JSON is told as a LONGTEXT; MySQL has a VARCHAR of 4 GB",
		port("Lengths of texts"), `
			pair-760-greatest pair-761-greatest`)
}
