package jdbc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/thermocline/thermocline/catalog/jdbc"
	"github.com/thermocline/thermocline/connector/fileio"
	"github.com/thermocline/thermocline/connector/paimon"
)

// TestURIs opens catalogs at odd URIs, which must end in an error that shows no
// password: the context is over before anybody is asked.
func TestURIs(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, uri := range []string{"jdbc:mysql://127.0.0.1:1/db?useSSL=false&password=s3cr3t", "jdbc:mysql://u:s3cr3t@127.0.0.1:1/db", "jdbc:postgresql://127.0.0.1:1/db?user=u&password=s3cr3t",
		"jdbc:postgresql://[::1]:1,h2/db", "jdbc:mariadb://127.0.0.1/", "jdbc:mysql:", "mysql://u:s3cr3t@x", "jdbc:mysql://127.0.0.1:99999/a?%zz", "jdbc:oracle:thin:u/x@y?password=s3cr3t", "", "jdbc:", "jdbc::", "jdbc:postgresql://\x00/?",
		"jdbc:mysql://u:s3cr3t@[/?password=s3cr3t"} {
		c, err := jdbc.Open(over, jdbc.Config{Files: fileio.Local{}, Warehouse: "/nowhere", URI: uri, Properties: map[string]string{"user": "u", "password": "s3cr3t"}, Drivers: drivers(),
			NewDriver: func(func(context.Context, string, string) (func() error, error)) *paimon.Driver {
				return paimon.NewDriver(paimon.Config{})
			}})
		if err == nil {
			c.Close()
			t.Errorf("%q was opened", uri)
		} else if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %v", uri, err)
		}
	}
}
