package expr

import "strings"

// deliberate are the cases whose answer differs from MySQL's on purpose, by id,
// with the reason. docs/sql-syntax.md tells users.
var deliberate = map[string]string{}

func init() {
	for reason, ids := range map[string]string{
		"MySQL's constant folding replaces the first argument of NULLIF by its conversion to the column's type; its manual has NULLIF return expr1": `
			result-type-518 result-type-527 result-type-529 result-type-153 result-type-521 result-type-163`,
		"an array is greater than a number, as MySQL's manual orders JSON values; its constant folding compares a BIGINT column with 0": `
			convert-148`,
		"GREATEST and LEAST of a date and a value that is none: MySQL answers with dates that do not exist, such as 16383-15-31; refused": `
			result-type-25 result-type-27 result-type-30 result-type-96 result-type-98 result-type-139 result-type-141 result-type-144 result-type-180
			result-type-182 result-type-185 result-type-223 result-type-225 result-type-259 result-type-262 result-type-300 result-type-304
			result-type-355 result-type-357 result-type-387 result-type-389 result-type-437 result-type-441 result-type-450 result-type-467
			result-type-470 result-type-479 result-type-496 result-type-498`,
		"JSON compared with dates, years and binary strings: JSON text does not tell them from strings; refused": `
			convert-423 convert-442 convert-482 convert-541 convert-549 convert-552 result-type-554 result-type-572 result-type-583`,
		"a decimal column shows all its fraction digits; MySQL shows those of the branch of CASE or IF that was taken": `
			conditional-4 conditional-31 conditional-58 conditional-75 conditional-111 conditional-128 conditional-138 result-type-10 result-type-44
			result-type-54 result-type-67 result-type-77 result-type-79 result-type-114 result-type-124 result-type-158 result-type-174
			result-type-188 result-type-213 result-type-229 result-type-231 result-type-240 result-type-241 result-type-341 result-type-544
			result-type-561`,
		"lake tables hold no dates whose month or day is zero, nor days that a month does not have, whatever sql_mode allows; refused": `
			mode-1 mode-2 mode-3 mode-7 mode-8 mode-9 mode-10 mode-15 mode-16 mode-34 mode-36 mode-52 mode-55 mode-56 mode-57 mode-58 sql-mode-13`,
		"more than 76 digits in between; MySQL cuts such products without a word or fails; refused": `
			decimal-rule-32 decimal-rule-58 overflow-112`,
		"the value is equal, but MySQL gives another warning about its own steps (a mantissa, a default of '0', a column named '')": `
			cast-more-46 cast-more-269 cast-166 cast-185 convert-190 convert-226 convert-375 result-type-237
			date-matrix-303 convert-340 convert-368 convert-484 convert-497`,
		"a warning about '0000-00-00', which no row has: MySQL's temporary table's": `
			group-rollup-38 group-rollup-64 group-rollup-82`,
		"server/plan gives the warning or the type; the executor of this test does not": `
			group-rule-10 group-rule-11`,
	} {
		for _, id := range strings.Fields(ids) {
			deliberate[id] = reason
		}
	}
}
