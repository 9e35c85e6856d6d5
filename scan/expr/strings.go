package expr

import "unicode/utf8"

func runeCount(s string) int { return utf8.RuneCountInString(s) }
