package mysql

import "strings"

// semanticDifferences are the cases that are answered otherwise than by MySQL on
// purpose, by id, with the reason. A case that answers as MySQL does may not
// stay here: TestSemantics fails.
var semanticDifferences = map[string]string{}

func init() {
	for reason, ids := range map[string]string{
		"DISTINCT with ORDER BY of what is not selected is refused without ONLY_FULL_GROUP_BY, too: which row's value orders is not determined": `
			mode-5`,
		"GREATEST and LEAST of a date and a value that is none: MySQL answers with dates that do not exist, such as 16383-15-31; refused": `
			result-type-25 result-type-27 result-type-30 result-type-96 result-type-98 result-type-139 result-type-141 result-type-144
			result-type-180 result-type-182 result-type-185 result-type-223 result-type-225 result-type-259 result-type-262 result-type-300
			result-type-304 result-type-355 result-type-357 result-type-387 result-type-389 result-type-437 result-type-441 result-type-450
			result-type-467 result-type-470 result-type-479 result-type-496 result-type-498`,
		"MySQL's constant folding replaces the first argument of NULLIF by its conversion to the column's type; its manual has NULLIF return expr1": `
			result-type-153 result-type-163 result-type-518 result-type-521 result-type-527 result-type-529`,
		"MySQL's manual orders VALUES … ORDER BY, its server does not": `
			values-1 values-3`,
		"a FLOAT in a text column of a set operation shows its own digits as in CONCAT and CAST; MySQL shows those of the DOUBLE, cut to the column": `
			result-type-255 result-type-258 result-type-264 result-type-285`,
		"a warning about '0000-00-00', which no row has: MySQL's temporary table's": `
			group-rollup-38 group-rollup-64 group-rollup-82`,
		"an array is greater than a number, as MySQL's manual orders JSON values; its constant folding compares a BIGINT column with 0": `
			convert-148`,
		"an extension that MySQL reads and refuses, or does not know": `
			error-39 rollup-21 window-more-103 window-more-104 window-more-107`,
		"lake tables hold no dates whose month or day is zero, nor days that a month does not have, whatever sql_mode allows; refused": `
			mode-1 mode-2 mode-3 mode-7 mode-8 mode-9 mode-10 mode-15 mode-16 mode-34 mode-36 mode-52 mode-55 mode-56 mode-57 mode-58 sql-mode-13`,
		"more than 76 digits in between; MySQL cuts such products without a word or fails; refused": `
			decimal-rule-32 decimal-rule-58`,
		"bit aggregates of binary strings are refused by name": `
			aggregate-type-74`,
		"the character set utf16 is refused by name": `
			string-bytes-25 string-bytes-59 string-bytes-70 string-bytes-83 string-bytes-167`,
		"a decimal user variable is announced with its digits, not with 30": `
			function-variables-4`,
		"an expression of a NULL literal has the type of its function": `
			function-json-41`,
		"the value is equal, but MySQL gives another warning about its own steps (a mantissa, a default of '0', a column named '')": `
			convert-190 convert-226 cte-recursive-24 date-matrix-106 date-matrix-303 date-346 json-more-237 result-type-237`,
	} {
		for _, id := range strings.Fields(ids) {
			semanticDifferences[id] = reason
		}
	}
}
