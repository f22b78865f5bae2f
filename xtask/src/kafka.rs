//! A private Kafka: one node that is broker and controller (KRaft), run from its jars by the machine's Java.
//!
//! No distribution that one would install packages Kafka. Its jars and all they need come by Maven, which knows by itself, or
//! by the user's own settings, where to fetch them from; they are kept.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::apt::find_program;
use crate::server::{Account, Server, on_free_port, output};
use crate::{Result, cache};

const VERSION: &str = "4.1.2";
/// The folder of the jars, by what is in it: another version is another folder.
const NAME: &str = "kafka-4.1.2";
/// What is fetched: Kafka, and what writes its log to standard error.
const PARTS: [(&str, &str, &str); 2] =
    [("org.apache.kafka", "kafka_2.13", VERSION), ("org.slf4j", "slf4j-simple", "1.7.36")];
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";
/// The oldest Java that this Kafka runs on.
const JAVA_MIN: u32 = 17;
/// Any will do: the cluster is alone.
const CLUSTER: &str = "dGVudXJlLXRlc3QtMDAwMQ";

/// A running node and how to reach it.
#[derive(Debug)]
pub(crate) struct Kafka {
    port: u16,
    pub(crate) version: String,
    _server: Server,
}

impl Kafka {
    /// Starts a node under `dir`.
    pub(crate) fn start(dir: &Path, account: Account) -> Result<Self> {
        let java = java()?;
        let jars = cache::kept(&cache::folder()?, NAME, fetch)?;
        let folder = dir.join("kafka");
        account.make_dir(&folder)?;
        let (port, server) = on_free_port(|port| {
            let node = Node { java: &java, jars: &jars, folder: &folder, account };
            let controller = another_port()?;
            let settings = folder.join(format!("{port}.properties"));
            let data = folder.join(port.to_string());
            fs::write(&settings, properties(port, controller, &data))
                .map_err(|error| format!("cannot write {}: {error}", settings.display()))?;
            let mut format = node.command("kafka.tools.StorageTool");
            format.args(["format", "-t", CLUSTER, "-c"]).arg(&settings);
            output(format)?;
            let mut kafka = node.command("kafka.Kafka");
            kafka.arg(&settings);
            // Nothing is lost that anybody wants: the slow way down is not waited for.
            let mut server = Server::spawn("kafka", kafka, dir, "KILL")?;
            server.wait_ready(|| answers(port))?;
            Ok((port, server))
        })?;
        Ok(Self { port, version: VERSION.to_owned(), _server: server })
    }

    pub(crate) fn url(&self) -> String {
        format!("kafka://127.0.0.1:{}", self.port)
    }
}

/// What every start of Java here has in common.
struct Node<'a> {
    java: &'a Path,
    jars: &'a Path,
    folder: &'a Path,
    account: Account,
}

impl Node<'_> {
    fn command(&self, class: &str) -> Command {
        let mut java = self.account.command(self.java);
        java.current_dir(self.folder)
            // Small, and soon at work: it lives for minutes.
            .args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"])
            .args(["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp"])
            .arg(self.jars.join("*"))
            .arg(class);
        java
    }
}

fn properties(port: u16, controller: u16, data: &Path) -> String {
    format!(
        "process.roles=broker,controller\n\
         node.id=1\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\n\
         controller.listener.names=CONTROLLER\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
         log.dirs={}\n\
         offsets.topic.num.partitions=4\n\
         offsets.topic.replication.factor=1\n\
         transaction.state.log.num.partitions=4\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         group.initial.rebalance.delay.ms=0\n\
         group.min.session.timeout.ms=500\n",
        data.display()
    )
}

/// Fetches the jars into `folder`.
fn fetch(folder: &Path) -> Result<()> {
    let maven = find_program("mvn").ok_or("the package `maven` is not installed, which fetches Kafka")?;
    eprintln!("xtask: fetching Kafka {VERSION}, to keep it in {}", folder.with_extension("").display());
    let (pom, work) = (folder.join("pom.xml"), folder.join("work"));
    fs::write(&pom, wishes()).map_err(|error| format!("cannot write {}: {error}", pom.display()))?;
    let mut copy = Account::ourselves().command(&maven);
    copy.current_dir(folder)
        .args(["--quiet", "--batch-mode", COPY, "-DincludeScope=runtime"])
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .arg(format!("-Dmaven.repo.local={}", work.display()));
    output(copy).map_err(|reason| format!("Kafka cannot be fetched: {reason}"))?;
    // What Maven itself needed on the way.
    fs::remove_dir_all(&work).map_err(|error| format!("cannot remove {}: {error}", work.display()))
}

/// What Maven is asked for.
fn wishes() -> String {
    let wish = |(group, name, version): &(&str, &str, &str)| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        )
    };
    let all: String = PARTS.iter().map(wish).collect();
    format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>tenure</groupId><artifactId>kafka</artifactId>\
         <version>1</version><packaging>pom</packaging><dependencies>{all}</dependencies></project>\n"
    )
}

/// A Java that is new enough.
fn java() -> Result<PathBuf> {
    let program =
        find_program("java").ok_or("there is no Java (package `openjdk-17-jre-headless`) to run Kafka")?;
    let mut version = Account::ourselves().command(&program);
    version.arg("--version");
    match major(&output(version)?) {
        Some(found) if found >= JAVA_MIN => Ok(program),
        _ => Err(format!("this Java is not {JAVA_MIN} or newer, which Kafka {VERSION} needs")),
    }
}

/// `openjdk 17.0.15 2025-04-15` is 17.
fn major(version: &str) -> Option<u32> {
    version.split_whitespace().nth(1)?.split('.').next()?.parse().ok()
}

/// A second one, for the controller.
fn another_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port on loopback: {error}"))
}

/// Whether the broker answers a question for the versions that it speaks.
fn answers(port: u16) -> bool {
    let ask = || -> std::io::Result<[u8; 8]> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        // Ten bytes: ApiVersions, version 0, number 7, from nobody.
        stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff])?;
        let mut answer = [0; 8];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.ends_with(&[0, 0, 0, 7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_java_is_read() {
        assert_eq!(major("openjdk 17.0.15 2025-04-15\nOpenJDK Runtime"), Some(17));
        assert_eq!(major("openjdk 11 2018-09-25"), Some(11));
        assert_eq!(major("java version \"1.8\""), None);
    }

    #[test]
    fn a_node_is_alone_on_loopback_and_groups_may_be_quick() {
        let text = properties(7000, 7001, Path::new("d"));
        assert!(text.contains("listeners=PLAINTEXT://127.0.0.1:7000,CONTROLLER://127.0.0.1:7001\n"));
        assert!(text.contains("group.initial.rebalance.delay.ms=0\n"));
        assert!(wishes().contains("<artifactId>kafka_2.13</artifactId>"));
    }
}
