package exec_test

import "testing"

// TestFunctions: addresses, encryption and others, with the answers of MySQL 9.7.
func TestFunctions(t *testing.T) {
	e := newEngine("fn")
	e.answers(t, [][2]string{
		{`select is_ipv4('10.0.5.9'), is_ipv4('10.0.5.256'), is_ipv4(null), is_ipv4('01.2.3.4'), is_ipv4('1.2.3'), is_ipv4(' 1.2.3.4'), is_ipv4(1), is_ipv4('1.2.3.0004')`, `1,0,NULL,1,0,0,0,0`},
		{`select is_ipv6('::'), is_ipv6('fe80::1'), is_ipv6('::ffff:1.2.3.4'), is_ipv6('10.0.0.1'), is_ipv6(null), is_ipv6('1::2::3'), is_ipv6('12345::'), is_ipv6('1:2:3:4:5:6:7:8'), is_ipv6('1:2:3:4:5:6:7:8:9')`, `1,1,1,0,NULL,0,0,1,0`},
		{`select is_ipv4_compat(inet6_aton('::10.0.5.9')), is_ipv4_compat(inet6_aton('::ffff:10.0.5.9')), is_ipv4_compat(inet6_aton('::1')), is_ipv4_compat(null), is_ipv4_compat('x'), is_ipv4_compat(inet6_aton('::'))`, `1,0,0,NULL,0,0`},
		{`select is_ipv4_mapped(inet6_aton('::10.0.5.9')), is_ipv4_mapped(inet6_aton('::ffff:10.0.5.9')), is_ipv4_mapped(inet6_aton('::1')), is_ipv4_mapped(null), is_ipv4_mapped('x')`, `0,1,0,NULL,0`},
		{`select length(random_bytes(16)), random_bytes(null), length(random_bytes(1))`, `16,NULL,1`},
		{`select random_bytes(0)`, `error 1690`},
		{`select random_bytes(1025)`, `error 1690`},
		{`select hex(aes_encrypt('text','key')), aes_decrypt(unhex(hex(aes_encrypt('text','key'))),'key'), aes_encrypt(null,'k'), aes_decrypt('nonsense','k'), hex(aes_encrypt('','k')), hex(aes_encrypt('0123456789abcdef','a very long key indeed, longer than 16'))`, `15E36637363712FC2E699B9C95B75393,text,NULL,NULL,932F1B1E9189536B938A6B67666D4031,9543F90F620603C2F0CCD5BCCB64583EF1282DF20A08E7B62D78D7BF1D68E95D`},
		{`select format_pico_time(3501), format_pico_time(188732396662000), format_pico_time(null), format_pico_time(0), format_pico_time(999), format_pico_time(1e18), format_pico_time(-3501), format_pico_time(86400000000000000)`, `3.50 ns,3.15 min,NULL,  0 ps,999 ps,11.57 d,-3.50 ns,1.00 d`},
		{`select cast(aes_decrypt(aes_encrypt('text','key'),'other') as char)`, `NULL`},
	})
}
