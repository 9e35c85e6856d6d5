package errs

// Kinds of variables, transactions and accounts.
const (
	GlobalVariable      Kind = "global variable"       // 1229: should be set with SET GLOBAL
	SessionVariable     Kind = "session variable"      // 1228: cannot be used with SET GLOBAL
	ReadOnlyTransaction Kind = "read only transaction" // 1792
	WrongObject         Kind = "wrong object"          // 1347: not a view, not a base table
	CannotUser          Kind = "account operation"     // 1396: CREATE USER, DROP USER failed
	NoSuchGrant         Kind = "no such grant"         // 1141
	InTransaction       Kind = "in transaction"        // 1568
	CollationCharset    Kind = "wrong collation"       // 1253: not valid for the character set
)

// NotRolledBack warns of changes that ROLLBACK leaves (1196).
const NotRolledBack Kind = "not rolled back"

// NoAutoCreate refuses to make a user by GRANT (1410).
const NoAutoCreate Kind = "no user by grant"

// Kinds of views.
const (
	ViewInvalid   Kind = "invalid view"     // 1356: what it reads is gone or denied
	ViewVariable  Kind = "variable in view" // 1351
	ViewRecursion Kind = "recursive view"   // 1462
	NoDefiner     Kind = "no definer"       // 1449
)
