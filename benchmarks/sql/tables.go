package main

// tableDDL are the columns of the tables as their generators make them, in Flink's
// types, all NOT NULL.
var tableDDL = map[string]string{
	"region":   `r_regionkey INT NOT NULL, r_name STRING NOT NULL, r_comment STRING NOT NULL`,
	"nation":   `n_nationkey INT NOT NULL, n_name STRING NOT NULL, n_regionkey INT NOT NULL, n_comment STRING NOT NULL`,
	"part":     `p_partkey BIGINT NOT NULL, p_name STRING NOT NULL, p_mfgr STRING NOT NULL, p_brand STRING NOT NULL, p_type STRING NOT NULL, p_size INT NOT NULL, p_container STRING NOT NULL, p_retailprice DECIMAL(15,2) NOT NULL, p_comment STRING NOT NULL`,
	"supplier": `s_suppkey BIGINT NOT NULL, s_name STRING NOT NULL, s_address STRING NOT NULL, s_nationkey INT NOT NULL, s_phone STRING NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, s_comment STRING NOT NULL`,
	"partsupp": `ps_partkey BIGINT NOT NULL, ps_suppkey BIGINT NOT NULL, ps_availqty BIGINT NOT NULL, ps_supplycost DECIMAL(15,2) NOT NULL, ps_comment STRING NOT NULL`,
	"customer": `c_custkey BIGINT NOT NULL, c_name STRING NOT NULL, c_address STRING NOT NULL, c_nationkey INT NOT NULL, c_phone STRING NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, c_mktsegment STRING NOT NULL, c_comment STRING NOT NULL`,
	"orders":   `o_orderkey BIGINT NOT NULL, o_custkey BIGINT NOT NULL, o_orderstatus STRING NOT NULL, o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority STRING NOT NULL, o_clerk STRING NOT NULL, o_shippriority INT NOT NULL, o_comment STRING NOT NULL`,
	"lineitem": `l_orderkey BIGINT NOT NULL, l_partkey BIGINT NOT NULL, l_suppkey BIGINT NOT NULL, l_linenumber BIGINT NOT NULL, l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag STRING NOT NULL, l_linestatus STRING NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, l_shipinstruct STRING NOT NULL, l_shipmode STRING NOT NULL, l_comment STRING NOT NULL`,
	"hits": `WatchID BIGINT NOT NULL, JavaEnable SMALLINT NOT NULL, Title STRING NOT NULL, GoodEvent SMALLINT NOT NULL, EventTime TIMESTAMP(6) NOT NULL, EventDate
		DATE NOT NULL, CounterID INT NOT NULL, ClientIP INT NOT NULL, RegionID INT NOT NULL, UserID BIGINT NOT NULL, CounterClass SMALLINT NOT NULL, OS
		SMALLINT NOT NULL, UserAgent SMALLINT NOT NULL, URL STRING NOT NULL, Referer STRING NOT NULL, IsRefresh SMALLINT NOT NULL, RefererCategoryID SMALLINT
		NOT NULL, RefererRegionID INT NOT NULL, URLCategoryID SMALLINT NOT NULL, URLRegionID INT NOT NULL, ResolutionWidth SMALLINT NOT NULL, ResolutionHeight
		SMALLINT NOT NULL, ResolutionDepth SMALLINT NOT NULL, FlashMajor SMALLINT NOT NULL, FlashMinor SMALLINT NOT NULL, FlashMinor2 STRING NOT NULL,
		NetMajor SMALLINT NOT NULL, NetMinor SMALLINT NOT NULL, UserAgentMajor SMALLINT NOT NULL, UserAgentMinor STRING NOT NULL, CookieEnable SMALLINT NOT
		NULL, JavascriptEnable SMALLINT NOT NULL, IsMobile SMALLINT NOT NULL, MobilePhone SMALLINT NOT NULL, MobilePhoneModel STRING NOT NULL, Params STRING
		NOT NULL, IPNetworkID INT NOT NULL, TraficSourceID SMALLINT NOT NULL, SearchEngineID SMALLINT NOT NULL, SearchPhrase STRING NOT NULL, AdvEngineID
		SMALLINT NOT NULL, IsArtifical SMALLINT NOT NULL, WindowClientWidth SMALLINT NOT NULL, WindowClientHeight SMALLINT NOT NULL, ClientTimeZone SMALLINT
		NOT NULL, ClientEventTime TIMESTAMP(6) NOT NULL, SilverlightVersion1 SMALLINT NOT NULL, SilverlightVersion2 SMALLINT NOT NULL, SilverlightVersion3 INT
		NOT NULL, SilverlightVersion4 SMALLINT NOT NULL, PageCharset STRING NOT NULL, CodeVersion INT NOT NULL, IsLink SMALLINT NOT NULL, IsDownload SMALLINT
		NOT NULL, IsNotBounce SMALLINT NOT NULL, FUniqID BIGINT NOT NULL, OriginalURL STRING NOT NULL, HID INT NOT NULL, IsOldCounter SMALLINT NOT NULL,
		IsEvent SMALLINT NOT NULL, IsParameter SMALLINT NOT NULL, DontCountHits SMALLINT NOT NULL, WithHash SMALLINT NOT NULL, HitColor STRING NOT NULL,
		LocalEventTime TIMESTAMP(6) NOT NULL, Age SMALLINT NOT NULL, Sex SMALLINT NOT NULL, Income SMALLINT NOT NULL, Interests SMALLINT NOT NULL, Robotness
		SMALLINT NOT NULL, RemoteIP INT NOT NULL, WindowName INT NOT NULL, OpenerName INT NOT NULL, HistoryLength SMALLINT NOT NULL, BrowserLanguage STRING
		NOT NULL, BrowserCountry STRING NOT NULL, SocialNetwork STRING NOT NULL, SocialAction STRING NOT NULL, HTTPError SMALLINT NOT NULL, SendTiming INT NOT
		NULL, DNSTiming INT NOT NULL, ConnectTiming INT NOT NULL, ResponseStartTiming INT NOT NULL, ResponseEndTiming INT NOT NULL, FetchTiming INT NOT NULL,
		SocialSourceNetworkID SMALLINT NOT NULL, SocialSourcePage STRING NOT NULL, ParamPrice BIGINT NOT NULL, ParamOrderID STRING NOT NULL, ParamCurrency
		STRING NOT NULL, ParamCurrencyID SMALLINT NOT NULL, OpenstatServiceName STRING NOT NULL, OpenstatCampaignID STRING NOT NULL, OpenstatAdID STRING NOT
		NULL, OpenstatSourceID STRING NOT NULL, UTMSource STRING NOT NULL, UTMMedium STRING NOT NULL, UTMCampaign STRING NOT NULL, UTMContent STRING NOT NULL,
		UTMTerm STRING NOT NULL, FromTag STRING NOT NULL, HasGCLID SMALLINT NOT NULL, RefererHash BIGINT NOT NULL, URLHash BIGINT NOT NULL, CLID INT NOT NULL`,
}
