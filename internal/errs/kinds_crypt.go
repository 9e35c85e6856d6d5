package errs

// Kinds of faults and warnings of encryption functions and of XML.
const (
	ShortIV       Kind = "short initialization vector" // 1882
	OptionIgnored Kind = "option ignored"              // 1618
	KDFName       Kind = "KDF name"                    // 3235
	KDFIterations Kind = "KDF iterations"              // 3236
	AESKeySize    Kind = "AES key size"                // 3237
	KDFOption     Kind = "KDF option"                  // 3238
	InvalidXML    Kind = "invalid XML"                 // 1525
	XPathSyntax   Kind = "XPath syntax"                // 1105
	UnknownLocale Kind = "unknown locale"              // 1649
	DigestParse   Kind = "statement of a digest"       // 3676
)
