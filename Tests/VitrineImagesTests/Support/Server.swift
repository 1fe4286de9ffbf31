import LocalServer

/// The demonstration and the tests of the tool use it, too.
typealias TestServer = LocalServer.TestServer
