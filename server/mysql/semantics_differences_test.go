package mysql

// semanticDifferences are the cases that are answered otherwise than by MySQL on
// purpose, by id. A case that answers as MySQL does may not stay here:
// TestSemantics fails.
var semanticDifferences = differences{}

func init() {
	add := semanticDifferences.because
	port := func(paragraph string) source { return document{"mysql-port.md", paragraph} }
	add("DISTINCT with ORDER BY of what is not selected is refused without ONLY_FULL_GROUP_BY, too: which row's value orders is not determined",
		manual{"14.19.3", "MySQL Handling of GROUP BY"}, `
			mode-5`)
	add("GREATEST of DATEs and a value that is none is 16383-15-31 in MySQL, LEAST of them and small numbers days without month; refused",
		port("GREATEST and LEAST of dates"), `
			result-type-25 result-type-139 result-type-141 result-type-180 result-type-259 result-type-300 result-type-437 result-type-441 result-type-450`)
	add("MySQL's constant folding replaces the first argument of NULLIF by its conversion to the column's type; its manual has NULLIF return that argument with its type",
		manual{"14.5", "Flow Control Functions"}, `
			result-type-153 result-type-163 result-type-518 result-type-521 result-type-527 result-type-529`)
	add("the manual orders VALUES … ORDER BY, the server does not",
		manual{"15.2.19", "VALUES Statement"}, `
			values-1 values-3`)
	add("a warning about '0000-00-00', which no row has: MySQL's temporary table's",
		port("Warnings"), `
			group-rollup-38 group-rollup-64 group-rollup-82`)
	add("an array is greater than a number, as MySQL's manual orders JSON values; its constant folding compares a BIGINT column with 0",
		manual{"13.5", "The JSON Data Type"}, `
			convert-148`)
	add("FULL OUTER JOIN is known", standard{"2", "7.10 <joined table>"}, `
			error-39`)
	add("GROUP BY CUBE is known", standard{"2", "7.13 <group by clause>"}, `
			rollup-21`)
	add("frames of GROUPS and EXCLUDE are known", standard{"2", "7.15 <window clause>"}, `
			window-more-103 window-more-104`)
	add("IGNORE NULLS is known", standard{"2", "6.10 <window function>"}, `
			window-more-107`)
	add("lake tables hold no dates whose month or day is zero, nor days that a month does not have, whatever sql_mode allows; refused",
		port("Zero and impossible dates"), `
			mode-1 mode-2 mode-3 mode-7 mode-8 mode-9 mode-10 mode-15 mode-16 mode-34 mode-36 mode-52 mode-55 mode-56 mode-57 mode-58 sql-mode-13`)
	add("more than 76 digits in between; MySQL cuts such products without a word; refused",
		manual{"14.24.2", "DECIMAL Data Type Characteristics"}, `
			decimal-rule-32 decimal-rule-58`)
	add("a decimal user variable is announced with its digits, not with 30", port("User variables"), `
			function-variables-4`)
	add("arrays and objects are sorted, too; MySQL warns that it does not",
		port("Warnings"), `
			json-more-237`)
}
