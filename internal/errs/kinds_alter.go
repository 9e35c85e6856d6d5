package errs

// Kinds of statements that change or remove definitions, with MySQL's codes.
const (
	// ForbiddenChange is a change that the table format rules out (1846).
	ForbiddenChange Kind = "forbidden change"
	// DropDatabaseMissing is DROP DATABASE of one that does not exist (1008).
	DropDatabaseMissing Kind = "drop of an unknown database"
	// DropTableMissing is DROP TABLE of one that does not exist (1051).
	DropTableMissing Kind = "drop of an unknown table"
)

// CatalogExists is CREATE CATALOG of a name that is taken (1007, as a database's).
const CatalogExists Kind = "catalog exists"
