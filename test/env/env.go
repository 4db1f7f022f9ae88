// Package env starts what a test needs in addition to the code under test: a Redis, an
// embedded ClickHouse, free ports. It also waits for conditions and captures logs.
//
// [EmbeddedRedis] runs inside the process. [Redis] is a redis-server of the test's own,
// which can be killed, restarted and paused; [RedisSentinels] is a pair of them watched by
// Sentinels, and [RedisCluster] a Redis Cluster. [StartEngine] gives a test a ClickHouse of
// its own; [SharedEngine] gives one that all tests of a package use, each in a database of
// its own: [DatabaseURL] hands on databases of tests that have ended, since migrating one takes
// longer than most tests. A test that changes the schema takes an [EmptyDatabaseURL].
//
// A test that needs a program that is missing is skipped, unless PNYX_TEST_REQUIRE_REDIS,
// …_ENGINE, …_NGINX, …_MYPY or …_BROWSER is set: then it fails. PNYX_ENGINE_LIB names the engine's
// library where it is not the fetched one. Under -short, a test is skipped that starts
// anything but the embedded Redis.
package env
