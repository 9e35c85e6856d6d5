package ingest

// What is tested where, by the subjects in which copies of change streams go wrong.
// A dash is not covered. All of it at once, for long: make nemesis. The tests here
// run against a MySQL too: make test-cdc.
//
//	row in the log before SELECT sees it     positions of consistent reads: source/mysql TestSnapshotIsolation; chunks lie below changes: TestLayers, TestCopyInChunks; with semi-sync: TestVisibility
//	kill at every step                       TestCrashEverywhere: calls, files, chunks, schema
//	commit that succeeded and said no        TestCrashEverywhere (steps that happen and whose reply is lost), sink TestState; that happened late: TestLateCommit
//	foreign writers                          TestOverwrittenWhileFollowed; and expiry: TestForeignWriters
//	rolled back, stopped and running         TestStartChecks, TestRolledBackWhileFollowed
//	two processes, one pipeline              TestFenced, sink TestState
//	every type, copy and log alike           source/mysql TestZoo, TestZooMySQL
//	keys that differ by case, while copied   TestCopyInChunks, source/mysql TestKeyChange
//	statements of every kind                 source/mysql TestHistory; TestSchemaChanges; while down: TestSchemaChangedWhileDown; under crashes: TestCrashEverywhere/schema
//	gh-ost, pt-osc, twice                    TestMigrationTools; begun before a restart, the table stops: TestMigrationBegunBefore; followed: –
//	key changes over buckets and partitions  TestCrashEverywhere, TestRoutesToLake, source/mysql TestKeyChange
//	a transaction larger than memory         TestLargeTransaction; killed in its middle: TestLargeTransactionKilled
//	XA, over restarts                        source/mysql TestXA, TestXAMySQL (needs a MySQL)
//	new tables, copies again while followed  TestNewTables, TestNewTablesFollowed, TestCopiedAgainWhileFollowed; under crashes: TestCrashEverywhere/tables
//	rows that vanish without row events      source/mysql TestStops, TestStrict, TestCopiedAgainWhileFollowed
//	failover                                 TestFailover, source/mysql TestResume
//	purged log, restored server              refused: source/mysql TestResume, TestStartChecks; healed: TestPurged
//	repairs of what differs                  TestRepair; under crashes: TestCrashEverywhere/schema, /tables
//	cut connections, restarted server        TestConnectionCut, TestServerRestart
//	one key far away, NULL in an expression  TestCopyInChunks (far), TestTransforms (nulls)
//	patterns and rules                       route, pipeline, transform tests
//	TRUNCATE, followed or not                TestSchemaChanges, TestTruncateFollowed, TestExceptionBehavior
//	log files numbered beyond 999999         source/mysql TestPositions
//	compressed transactions, tagged GTIDs    source/mysql TestRecordedMySQL; source/mysql TestFollowMySQL (needs a MySQL)
