package spec_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/connector/paimon/spec"
)

// javaStatistics is what Java Paimon 2.0.0 wrote for a table of every type that
// statistics have bounds of.
const javaStatistics = `{"snapshotId":1,"schemaId":0,"mergedRecordCount":3,"mergedRecordSize":3370,"colStats":{
"de":{"colId":7,"distinctCount":2,"min":"-1.55","max":"1.50","nullCount":1,"avgLen":8,"maxLen":8},
"b":{"colId":16,"distinctCount":2,"nullCount":1,"avgLen":1,"maxLen":2},
"fl":{"colId":5,"distinctCount":2,"min":"1.5","max":"1.0E20","nullCount":1,"avgLen":4,"maxLen":4},
"bi":{"colId":4,"distinctCount":2,"min":"-3","max":"3","nullCount":1,"avgLen":8,"maxLen":8},
"lt":{"colId":14,"distinctCount":2,"min":"2024-01-01 10:00:00.000000","max":"2024-01-01 10:00:00.500000","nullCount":1,"avgLen":8,"maxLen":8},
"k":{"colId":0,"distinctCount":3,"min":"1","max":"3","nullCount":0,"avgLen":4,"maxLen":4},
"do":{"colId":6,"distinctCount":2,"min":"1.0E-10","max":"0.1","nullCount":1,"avgLen":8,"maxLen":8},
"bo":{"colId":1,"distinctCount":2,"min":"false","max":"true","nullCount":1,"avgLen":1,"maxLen":1},
"ts0":{"colId":12,"distinctCount":2,"min":"2024-01-01 00:00:00","max":"2024-01-01 00:00:01","nullCount":1,"avgLen":8,"maxLen":8},
"dw":{"colId":8,"distinctCount":2,"min":"-0.00001","max":"12345678901234567890.12345","nullCount":1,"avgLen":16,"maxLen":16},
"s":{"colId":15,"distinctCount":2,"nullCount":1,"avgLen":3,"maxLen":4},
"ti":{"colId":2,"distinctCount":2,"min":"-1","max":"1","nullCount":1,"avgLen":1,"maxLen":1},
"si":{"colId":3,"distinctCount":2,"min":"-2","max":"2","nullCount":1,"avgLen":2,"maxLen":2},
"tm":{"colId":10,"distinctCount":2,"min":"0","max":"36672500","nullCount":1,"avgLen":4,"maxLen":4},
"ts9":{"colId":13,"distinctCount":2,"min":"2024-01-01 10:11:00.000000000","max":"2024-01-01 10:11:12.123456789","nullCount":1,"avgLen":8,"maxLen":8},
"da":{"colId":9,"distinctCount":2,"min":"-1","max":"19753","nullCount":1,"avgLen":4,"maxLen":4},
"ts":{"colId":11,"distinctCount":2,"min":"1969-12-31 23:59:59.999999","max":"2024-01-01 10:11:12.123456","nullCount":1,"avgLen":8,"maxLen":8}}}`

var describedSchema = &catalog.Schema{Fields: []catalog.Field{{ID: 0, Name: "k", Type: catalog.TInt.Required()}, {ID: 1, Name: "bo", Type: catalog.TBoolean},
	{ID: 2, Name: "ti", Type: catalog.Type{Kind: catalog.TinyInt}}, {ID: 3, Name: "si", Type: catalog.Type{Kind: catalog.SmallInt}}, {ID: 4, Name: "bi", Type: catalog.TBigInt},
	{ID: 5, Name: "fl", Type: catalog.Type{Kind: catalog.Float}}, {ID: 6, Name: "do", Type: catalog.TDouble}, {ID: 7, Name: "de", Type: catalog.TDecimal(10, 2)},
	{ID: 8, Name: "dw", Type: catalog.TDecimal(30, 5)}, {ID: 9, Name: "da", Type: catalog.TDate}, {ID: 10, Name: "tm", Type: catalog.Type{Kind: catalog.Time, Length: 3}},
	{ID: 11, Name: "ts", Type: catalog.Type{Kind: catalog.Timestamp, Length: 6}}, {ID: 12, Name: "ts0", Type: catalog.Type{Kind: catalog.Timestamp}},
	{ID: 13, Name: "ts9", Type: catalog.Type{Kind: catalog.Timestamp, Length: 9}}, {ID: 14, Name: "lt", Type: catalog.Type{Kind: catalog.TimestampLTZ, Length: 6}},
	{ID: 15, Name: "s", Type: catalog.TString}, {ID: 16, Name: "b", Type: catalog.Type{Kind: catalog.Char, Length: 3}}}}

func ofDescribed(int64) (*catalog.Schema, error) { return describedSchema, nil }

// What Java wrote is understood, and written again it is the same.
func TestStatisticsRoundTrip(t *testing.T) {
	s, err := spec.ParseStatistics([]byte(javaStatistics), ofDescribed)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Columns) != len(describedSchema.Fields) || s.Rows != 3 || s.Bytes != 3370 {
		t.Errorf("%+v", s)
	}
	b, err := spec.MarshalStatistics(s, describedSchema)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(javaStatistics), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s", b)
	}
}

// Columns that are others now, and bounds that are no values, are left out.
func TestStatisticsOfOthers(t *testing.T) {
	s, err := spec.ParseStatistics([]byte(`{"snapshotId":4,"schemaId":0,"colStats":{"k":{"colId":9,"distinctCount":1},"gone":{"colId":77},"da":{"colId":9,"min":"2024-01-01","max":"5","nullCount":-3}},"more":[1]}`), ofDescribed)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]connector.ColumnStatistics{9: {Distinct: -1, Nulls: -1, AvgLen: -1, MaxLen: -1}}
	if !reflect.DeepEqual(s.Columns, want) || s.Rows != -1 || s.Bytes != -1 || s.Version != 4 {
		t.Errorf("%+v", s)
	}
}

// FuzzStatistics reads anything; what is read can be written and read again.
func FuzzStatistics(f *testing.F) {
	f.Add([]byte(javaStatistics))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := spec.ParseStatistics(b, ofDescribed)
		if err != nil {
			return
		}
		out, err := spec.MarshalStatistics(s, describedSchema)
		if err != nil {
			t.Fatal(err)
		}
		again, err := spec.ParseStatistics(out, ofDescribed)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if second, _ := spec.MarshalStatistics(again, describedSchema); string(second) != string(out) {
			t.Errorf("%s became %s", out, second)
		}
	})
}
