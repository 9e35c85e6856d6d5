package mysql

import "math"

// Capability flags of the handshake.
const (
	capLongPassword   = 1 << 0
	capFoundRows      = 1 << 1
	capLongFlag       = 1 << 2
	capConnectWithDB  = 1 << 3
	capNoSchema       = 1 << 4
	capCompress       = 1 << 5
	capODBC           = 1 << 6
	capIgnoreSpace    = 1 << 8
	capProtocol41     = 1 << 9
	capInteractive    = 1 << 10
	capSSL            = 1 << 11
	capIgnoreSigpipe  = 1 << 12
	capTransactions   = 1 << 13
	capReserved       = 1 << 14
	capSecure         = 1 << 15
	capMultiStmts     = 1 << 16
	capMultiResults   = 1 << 17
	capPSMultiResults = 1 << 18
	capPluginAuth     = 1 << 19
	capConnectAttrs   = 1 << 20
	capLenencAuth     = 1 << 21
	capExpiredPass    = 1 << 22
	capSessionTrack   = 1 << 23
	capDeprecateEOF   = 1 << 24
	capQueryAttrs     = 1 << 27

	// serverCaps is what the greeting offers; capSSL is added when TLS is on.
	// LOCAL_FILES is not among them: the server never asks a client for files.
	serverCaps = capLongPassword | capFoundRows | capLongFlag | capConnectWithDB | capNoSchema | capCompress | capODBC |
		capIgnoreSpace | capProtocol41 | capInteractive | capIgnoreSigpipe | capTransactions | capReserved | capSecure |
		capMultiStmts | capMultiResults | capPSMultiResults | capPluginAuth | capConnectAttrs | capLenencAuth |
		capExpiredPass | capSessionTrack | capDeprecateEOF | capQueryAttrs
)

// Status flags of OK and EOF packets.
const (
	statusInTrans            = 0x0001
	statusAutocommit         = 0x0002
	statusMoreResults        = 0x0008
	statusCursorExists       = 0x0040
	statusLastRowSent        = 0x0080
	statusNoBackslashEscapes = 0x0200
	statusSessionChanged     = 0x4000
)

// Commands.
const (
	comSleep           = 0x00
	comQuit            = 0x01
	comInitDB          = 0x02
	comQuery           = 0x03
	comFieldList       = 0x04
	comRefresh         = 0x07
	comShutdown        = 0x08
	comStatistics      = 0x09
	comProcessInfo     = 0x0a
	comProcessKill     = 0x0c
	comDebug           = 0x0d
	comPing            = 0x0e
	comChangeUser      = 0x11
	comBinlogDump      = 0x12
	comTableDump       = 0x13
	comRegisterSlave   = 0x15
	comStmtPrepare     = 0x16
	comStmtExecute     = 0x17
	comStmtSendLong    = 0x18
	comStmtClose       = 0x19
	comStmtReset       = 0x1a
	comSetOption       = 0x1b
	comStmtFetch       = 0x1c
	comBinlogDumpGTID  = 0x1e
	comResetConnection = 0x1f
)

// Type codes of column definitions and parameters.
const (
	typeDecimal    = 0x00
	typeTiny       = 0x01
	typeShort      = 0x02
	typeLong       = 0x03
	typeFloat      = 0x04
	typeDouble     = 0x05
	typeNull       = 0x06
	typeTimestamp  = 0x07
	typeLongLong   = 0x08
	typeInt24      = 0x09
	typeDate       = 0x0a
	typeTime       = 0x0b
	typeDateTime   = 0x0c
	typeYear       = 0x0d
	typeNewDate    = 0x0e
	typeVarchar    = 0x0f
	typeBit        = 0x10
	typeVector     = 0xf2
	typeJSON       = 0xf5
	typeNewDecimal = 0xf6
	typeEnum       = 0xf7
	typeSet        = 0xf8
	typeTinyBlob   = 0xf9
	typeMediumBlob = 0xfa
	typeLongBlob   = 0xfb
	typeBlob       = 0xfc
	typeVarString  = 0xfd
	typeString     = 0xfe
	typeGeometry   = 0xff
)

// Column flags.
const (
	flagNotNull  = 1 << 0
	flagPriKey   = 1 << 1
	flagBlob     = 1 << 4
	flagUnsigned = 1 << 5
	flagZerofill = 1 << 6
	flagBinary   = 1 << 7
	flagEnum     = 1 << 8
	flagSet      = 1 << 11
	flagPartKey  = 1 << 14
)

// sessionTrackSchema marks a change of the current database in an OK packet.
const sessionTrackSchema = 1

// maxPayload is the most bytes that one packet carries; a longer payload goes
// on in the next one.
const maxPayload = 1<<24 - 1

// putLen appends a length-encoded integer.
func putLen(b []byte, n uint64) []byte {
	switch {
	case n < 251:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return append(b, 0xfe, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32), byte(n>>40), byte(n>>48), byte(n>>56))
}

// putStr appends a length-encoded string.
func putStr[T string | []byte](b []byte, s T) []byte {
	return append(putLen(b, uint64(len(s))), s...)
}

func put16(b []byte, n uint16) []byte { return append(b, byte(n), byte(n>>8)) }

func put32(b []byte, n uint32) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

func put64(b []byte, n uint64) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32), byte(n>>40), byte(n>>48), byte(n>>56))
}

// fields reads the fields of a payload. After a read beyond the end, or of a
// malformed length, bad is set and everything reads as zero. It never panics
// and never allocates more than the payload has.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) fail() { f.bad, f.b = true, nil }

// take returns the next n bytes, which alias the payload.
func (f *fields) take(n int) []byte {
	if n < 0 || n > len(f.b) {
		f.fail()
		return nil
	}
	v := f.b[:n:n]
	f.b = f.b[n:]
	return v
}

// uint reads n little-endian bytes, n <= 8.
func (f *fields) uint(n int) (v uint64) {
	for i, x := range f.take(n) {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// lenenc reads a length-encoded integer.
func (f *fields) lenenc() uint64 {
	switch first := f.uint(1); first {
	case 0xfc:
		return f.uint(2)
	case 0xfd:
		return f.uint(3)
	case 0xfe:
		return f.uint(8)
	case 0xfb, 0xff:
		f.fail()
		return 0
	default:
		return first
	}
}

// str reads a length-encoded string.
func (f *fields) str() []byte {
	n := f.lenenc()
	if n > math.MaxInt32 {
		f.fail()
		return nil
	}
	return f.take(int(n))
}

// nul reads up to a zero byte, which it skips.
func (f *fields) nul() []byte {
	for i, x := range f.b {
		if x == 0 {
			v := f.b[:i:i]
			f.b = f.b[i+1:]
			return v
		}
	}
	f.fail()
	return nil
}

// nulOrRest reads up to a zero byte or the end.
func (f *fields) nulOrRest() []byte {
	for i, x := range f.b {
		if x == 0 {
			v := f.b[:i:i]
			f.b = f.b[i+1:]
			return v
		}
	}
	return f.take(len(f.b))
}
