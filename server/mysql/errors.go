package mysql

import (
	"context"
	"errors"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// sqlError is an error in the protocol's terms.
type sqlError struct {
	code  uint16
	state string
	msg   string
}

func (e *sqlError) Error() string { return e.msg }

// code is an error number and its SQLSTATE.
type code struct {
	number uint16
	state  string
}

// kinds maps what went wrong to MySQL's numbers, as MySQL 8 sends them.
var kinds = map[errs.Kind]code{
	errs.Syntax:           {1064, "42000"},
	errs.NotSupported:     {1235, "42000"},
	errs.NoDatabase:       {1046, "3D000"},
	errs.UnknownDatabase:  {1049, "42000"},
	errs.DatabaseExists:   {1007, "HY000"},
	errs.DatabaseNotEmpty: {1010, "HY000"},
	errs.UnknownTable:     {1146, "42S02"},
	errs.TableExists:      {1050, "42S01"},
	errs.UnknownColumn:    {1054, "42S22"},
	errs.AmbiguousColumn:  {1052, "23000"},
	errs.DuplicateColumn:  {1060, "42S21"},
	errs.DuplicateAlias:   {1066, "42000"},
	errs.UnknownFunction:  {1305, "42000"},
	errs.WrongArgCount:    {1582, "42000"},
	errs.WrongArguments:   {1210, "HY000"},
	errs.InvalidGroupBy:   {1111, "HY000"},
	errs.NotInGroupBy:     {1055, "42000"},
	errs.MixOfGroup:       {1140, "42000"},
	errs.OperandColumns:   {1241, "21000"},
	errs.SubqueryRows:     {1242, "21000"},
	errs.DerivedAlias:     {1248, "42000"},
	errs.ColumnCount:      {1136, "21S01"},
	errs.SetOpColumns:     {1222, "21000"},
	errs.UnknownSnapshot:  {1105, "HY000"},
	errs.UnknownCatalog:   {1105, "HY000"},
	errs.UnknownPipeline:  {1105, "HY000"},
	errs.UnknownProcedure: {1305, "42000"},
	errs.UnknownCollation: {1273, "HY000"},
	errs.UnknownCharset:   {1115, "42000"},
	errs.CollationMix:     {1267, "HY000"},
	errs.CollationMix3:    {1270, "HY000"},
	errs.CollationMixAll:  {1271, "HY000"},
	errs.UnknownVariable:  {1193, "HY000"},
	errs.ReadOnlyVariable: {1238, "HY000"},
	errs.WrongValueForVar: {1231, "42000"},
	errs.WrongTypeForVar:  {1232, "42000"},
	errs.UnknownTimeZone:  {1298, "HY000"},
	errs.EmptyQuery:       {1065, "42000"},
	errs.WrongGroupField:  {1056, "42000"},
	errs.OrderNotSelected: {3065, "HY000"},
	errs.DataTruncated:    {1265, "01000"},
	errs.EmptyValues:      {3942, "HY000"},
	errs.ViewColumns:      {1353, "HY000"},
	errs.ViewInvalid:      {1356, "HY000"},
	errs.ViewVariable:     {1351, "HY000"},
	errs.ViewRecursion:    {1462, "HY000"},
	errs.NoDefiner:        {1449, "HY000"},
	errs.GroupingArgument: {3602, "HY000"},
	errs.WindowUnknown:    {3579, "HY000"},
	errs.WindowCycle:      {3580, "HY000"},
	errs.WindowPartition:  {3581, "HY000"},
	errs.WindowFramed:     {3582, "HY000"},
	errs.WindowOrdered:    {3583, "HY000"},
	errs.FrameStart:       {3584, "HY000"},
	errs.FrameEnd:         {3585, "HY000"},
	errs.FrameBounds:      {3586, "HY000"},
	errs.RangeKey:         {3587, "HY000"},
	errs.RangeInterval:    {3588, "HY000"},
	errs.RangeNumber:      {3589, "HY000"},
	errs.WindowDuplicate:  {3591, "HY000"},
	errs.WindowPosition:   {3592, "HY000"},
	errs.WindowMisplaced:  {3593, "HY000"},
	errs.RecursionUnion:   {3573, "HY000"},
	errs.RecursionForm:    {3575, "HY000"},
	errs.RecursionOnce:    {3577, "HY000"},
	errs.RecursionDepth:   {3636, "HY000"},
	errs.UnknownStatement: {1243, "HY000"},

	errs.CatalogExists:       {1007, "HY000"},
	errs.ForbiddenChange:     {1846, "0A000"},
	errs.DropDatabaseMissing: {1008, "HY000"},
	errs.DropTableMissing:    {1051, "42S02"},
	errs.MultiStatementOff:   {1064, "42000"},

	errs.OutOfRange:       {1690, "22003"},
	errs.DivisionByZero:   {1365, "22012"},
	errs.TruncatedValue:   {1292, "22007"},
	errs.WrongValue:       {1525, "HY000"},
	errs.ValueOutOfRange:  {1264, "22003"},
	errs.DataTooLong:      {1406, "22001"},
	errs.NotNull:          {1048, "23000"},
	errs.NoDefault:        {1364, "HY000"},
	errs.DuplicateKey:     {1062, "23000"},
	errs.InvalidJSON:      {3140, "22032"},
	errs.IncorrectDecimal: {1366, "HY000"},
	errs.BitLength:        {3513, "HY000"},
	errs.LongBitOperand:   {3514, "HY000"},
	errs.InvalidRegexp:    {3685, "HY000"},
	errs.PacketTooLarge:   {1153, "08S01"},
	errs.WrongFieldSpec:   {1063, "42000"},
	errs.TooBigPrecision:  {1426, "42000"},
	errs.TooBigScale:      {1425, "42000"},
	errs.ScaleOverDigits:  {1427, "42000"},
	errs.TooBigWidth:      {1439, "42000"},
	errs.InvalidDefault:   {1067, "42000"},
	errs.KeyColumnMissing: {1072, "42000"},
	errs.WrongPrimaryKey:  {1105, "HY000"},

	errs.Deprecated:           {1287, "HY000"},
	errs.WrongValueForFunc:    {1411, "HY000"},
	errs.DatetimeOverflow:     {1441, "22008"},
	errs.DateOutOfRange:       {6527, "22003"},
	errs.GroupConcatCut:       {1260, "HY000"},
	errs.InvalidCharacter:     {1300, "HY000"},
	errs.ResultTooLong:        {1301, "HY000"},
	errs.InvalidLogarithm:     {3020, "2201E"},
	errs.DeprecatedDelimiter:  {4095, "HY000"},
	errs.SuperfluousDelimiter: {4096, "HY000"},
	errs.DeprecatedCharset:    {3719, "HY000"},
	errs.DeprecatedNational:   {3720, "HY000"},
	errs.JSONTableMissing:     {3665, "22035"},
	errs.JSONTableScalar:      {3666, "22036"},
	errs.TableFuncAlias:       {3667, "42000"},
	errs.JSONTableRange:       {3669, "22003"},
	errs.InvalidJSONCast:      {3156, "22018"},
	errs.UnsignedComplement:   {1105, "HY000"},
	errs.InvalidJSONPath:      {3143, "42000"},
	errs.CharsetForCollation:  {1253, "42000"},
	errs.InvalidJSONCharset:   {3144, "22032"},
	errs.InvalidJSONType:      {3146, "22032"},
	errs.JSONKeyNull:          {3158, "22032"},
	errs.JSONPathWildcard:     {3149, "42000"},
	errs.JSONOneOrAll:         {3154, "42000"},
	errs.JSONSeveral:          {3967, "22034"},
	errs.JSONNoObject:         {3853, "22032"},
	errs.JSONMissing:          {3966, "22035"},
	errs.RegexpIndex:          {3686, "HY000"},

	errs.GlobalVariable:     {1229, "HY000"},
	errs.SessionVariable:    {1228, "HY000"},
	errs.WrongObject:        {1347, "HY000"},
	errs.CannotUser:         {1396, "HY000"},
	errs.NoSuchGrant:        {1141, "42000"},
	errs.InTransaction:      {1568, "25001"},
	errs.CollationCharset:   {1253, "42000"},
	errs.NotRolledBack:      {1196, "HY000"},
	"read only transaction": {1792, "25006"},
	errs.NoAutoCreate:       {1410, "42000"},

	errs.NotUpdatable:     {1288, "HY000"},
	errs.NotInsertable:    {1471, "HY000"},
	errs.WrongUsage:       {1221, "HY000"},
	errs.UnknownTarget:    {1109, "42S02"},
	errs.UnknownPartition: {1735, "HY000"},
	errs.CannotDrop:       {1091, "42000"},
	errs.FieldTwice:       {1110, "42000"},
	errs.MergeMatchedTwo:  {1105, "HY000"},

	errs.AccessDenied:    {1045, "28000"},
	errs.DatabaseDenied:  {1044, "42000"},
	errs.TableDenied:     {1142, "42000"},
	errs.PrivilegeNeeded: {1227, "42000"},
	errs.Killed:          {1317, "70100"},
	errs.Timeout:         {3024, "HY000"},
	errs.TooManyClients:  {1040, "08004"},
	errs.MemoryLimit:     {1041, "HY000"},
	errs.QueueTimeout:    {1041, "HY000"},
	errs.DiskLimit:       {1114, "HY000"},
	errs.ShuttingDown:    {1053, "08S01"},
	errs.NoSuchThread:    {1094, "HY000"},

	errs.InvalidTable:    {1105, "HY000"},
	errs.ReadOnlyObject:  {1290, "HY000"},
	errs.LeaseHeld:       {1290, "HY000"},
	errs.FilesOutside:    {1290, "HY000"},
	errs.OptionMisplaced: {1234, "42000"},
	errs.TooManyRows:     {1172, "42000"},
	errs.NoData:          {1329, "02000"},
	errs.WrongFileFormat: {1083, "42000"},
	errs.FileNotFound:    {1017, "HY000"},
	errs.FileExists:      {1086, "HY000"},
	errs.FilesVanished:   {1412, "HY000"},
	errs.PortInUse:       {1105, "HY000"},

	errs.InvalidJSONArg:   {3141, "22032"},
	errs.JSONDepth:        {3157, "22032"},
	errs.JSONArgType:      {3064, "HY000"},
	errs.JSONNotCell:      {3165, "42000"},
	errs.JSONVacuousPath:  {3153, "42000"},
	errs.JSONBoolean:      {3986, "HY000"},
	errs.RegexpSyntax:     {3688, "HY000"},
	errs.RegexpEscape:     {3689, "HY000"},
	errs.RegexpParen:      {3691, "HY000"},
	errs.RegexpInterval:   {3692, "HY000"},
	errs.RegexpMaxMin:     {3693, "HY000"},
	errs.RegexpBracket:    {3696, "HY000"},
	errs.RegexpRange:      {3697, "HY000"},
	errs.RegexpBackRef:    {3694, "HY000"},
	errs.RegexpLookBehind: {3695, "HY000"},
	errs.RegexpStack:      {3698, "HY000"},
	errs.RegexpTimeout:    {3699, "HY000"},
	errs.RegexpGroupName:  {3887, "HY000"},
	errs.RegexpNumber:     {4007, "HY000"},
	errs.RegexpCharset:    {3995, "HY000"},
	errs.IllegalValue:     {1367, "22007"},

	errs.ShortIV:       {1882, "HY000"},
	errs.OptionIgnored: {1618, "HY000"},
	errs.KDFName:       {3235, "HY000"},
	errs.KDFIterations: {3236, "HY000"},
	errs.AESKeySize:    {3237, "HY000"},
	errs.KDFOption:     {3238, "HY000"},
	errs.UnknownLocale: {1649, "HY000"},
	errs.InvalidXML:    {1525, "HY000"},
	errs.XPathSyntax:   {1105, "HY000"},
	errs.DigestParse:   {3676, "HY000"},
}

// classes are for errors without a kind of their own.
var classes = map[errs.Class]code{
	errs.Internal:       {1105, "HY000"},
	errs.User:           {1105, "HY000"},
	errs.Unsupported:    {1235, "42000"},
	errs.Conflict:       {1213, "40001"}, // "try restarting transaction"
	errs.UnknownOutcome: {1105, "HY000"},
	errs.Resource:       {1041, "HY000"},
	errs.Corruption:     {1105, "HY000"},
	errs.Unavailable:    {1105, "HY000"},
}

// ErrorCode returns MySQL's number of a kind, 0 for a kind that has none of its
// own. SHOW WARNINGS needs it.
func ErrorCode(k errs.Kind) int { return int(kinds[k].number) }

// translate returns an error in the protocol's terms.
func translate(err error) *sqlError {
	var e *sqlError
	if errors.As(err, &e) {
		return e
	}
	kind := errs.KindOf(err)
	if kind == errs.KindNone && errs.ClassOf(err) == errs.Internal {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return &sqlError{3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded"}
		case errors.Is(err, context.Canceled):
			return &sqlError{1317, "70100", "Query execution was interrupted"}
		}
	}
	c, ok := kinds[kind]
	if !ok {
		c = classes[errs.ClassOf(err)]
	}
	msg := strings.ToValidUTF8(err.Error(), "?")
	return &sqlError{c.number, c.state, msg}
}

// putError writes an error packet. Before the client has told its capabilities
// there is no SQLSTATE in it.
func (w *wire) putError(err error, state bool) {
	w.abandon()
	e := translate(err)
	w.begin()
	w.out = append(w.out, 0xff, byte(e.code), byte(e.code>>8))
	if state {
		w.out = append(append(w.out, '#'), e.state...)
	}
	w.out = append(w.out, e.msg...)
	w.end()
}
