package errs

// Kinds of window functions, with MySQL's codes.
const (
	WindowUnknown   Kind = "unknown window"            // 3579
	WindowCycle     Kind = "window cycle"              // 3580
	WindowPartition Kind = "window partition"          // 3581: a window that refers to another partitions
	WindowFramed    Kind = "window framed"             // 3582: a window that is referred to has a frame
	WindowOrdered   Kind = "window ordered twice"      // 3583
	FrameStart      Kind = "window frame start"        // 3584
	FrameEnd        Kind = "window frame end"          // 3585
	FrameBounds     Kind = "window frame bounds"       // 3586
	RangeKey        Kind = "window range key"          // 3587
	RangeInterval   Kind = "window range interval"     // 3588: a date ordering needs an INTERVAL
	RangeNumber     Kind = "window range number"       // 3589: a number ordering takes no INTERVAL
	WindowDuplicate Kind = "window defined twice"      // 3591
	WindowPosition  Kind = "window position"           // 3592
	WindowMisplaced Kind = "window function misplaced" // 3593
)
