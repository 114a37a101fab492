package paimonref;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.reader.FileRecordIterator;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Operations that only engines do, made here on the library's internals. */
public final class Engine {

    private Engine() {}

    /** What DELETE FROM does on an append table with deletion vectors. */
    public static void deleteRows(FileStoreTable t, Predicate<InternalRow> which, String user) throws Exception {
        boolean b64 = Boolean.parseBoolean(t.options().getOrDefault("deletion-vectors.bitmap64", "false"));
        Map<BinaryRow, BaseAppendDeleteFileMaintainer> byPartition = new LinkedHashMap<>();
        for (Split s : t.newReadBuilder().newScan().plan().splits()) {
            DataSplit ds = (DataSplit) s;
            BaseAppendDeleteFileMaintainer m =
                    byPartition.computeIfAbsent(
                            ds.partition(),
                            p -> BaseAppendDeleteFileMaintainer.forUnawareAppend(
                                    t.store().newIndexFileHandler(), t.snapshotManager().latestSnapshot(), p));
            Map<String, DeletionVector> dvs = new LinkedHashMap<>();
            try (RecordReader<InternalRow> reader = t.newReadBuilder().newRead().createReader(s)) {
                RecordReader.RecordIterator<InternalRow> batch;
                while ((batch = reader.readBatch()) != null) {
                    FileRecordIterator<InternalRow> it = (FileRecordIterator<InternalRow>) batch;
                    InternalRow row;
                    while ((row = it.next()) != null) {
                        if (which.test(row)) {
                            dvs.computeIfAbsent(
                                            it.filePath().getName(),
                                            k -> b64 ? new Bitmap64DeletionVector() : new BitmapDeletionVector())
                                    .delete(it.returnedPosition());
                        }
                    }
                    it.releaseBatch();
                }
            }
            dvs.forEach(m::notifyNewDeletionVector);
        }
        List<CommitMessage> messages = new ArrayList<>();
        for (Map.Entry<BinaryRow, BaseAppendDeleteFileMaintainer> e : byPartition.entrySet()) {
            List<IndexFileMeta> add = new ArrayList<>();
            List<IndexFileMeta> del = new ArrayList<>();
            for (IndexManifestEntry x : e.getValue().persist()) {
                (x.kind() == FileKind.ADD ? add : del).add(x.indexFile());
            }
            messages.add(
                    new CommitMessageImpl(
                            e.getKey(),
                            e.getValue().getBucket(),
                            t.coreOptions().bucket(),
                            new DataIncrement(List.of(), List.of(), List.of(), add, del),
                            CompactIncrement.emptyIncrement()));
        }
        try (TableCommitImpl commit = t.newCommit(user)) {
            commit.commit(Ops.nextId(t), messages);
        }
    }

    /** Data evolution: writes some columns of the existing rows that start at the given row id. */
    public static void writeColumns(FileStoreTable t, List<String> columns, long firstRowId, List<InternalRow> rows)
            throws Exception {
        BatchWriteBuilder b = t.newBatchWriteBuilder();
        try (BatchTableWrite w = b.newWrite(); BatchTableCommit commit = b.newCommit()) {
            w.withWriteType(t.rowType().project(columns));
            for (InternalRow row : rows) {
                w.write(row);
            }
            List<CommitMessage> numbered = new ArrayList<>();
            for (CommitMessage m : w.prepareCommit()) {
                CommitMessageImpl x = (CommitMessageImpl) m;
                List<DataFileMeta> files = new ArrayList<>();
                for (DataFileMeta f : x.newFilesIncrement().newFiles()) {
                    files.add(f.assignFirstRowId(firstRowId));
                }
                numbered.add(
                        new CommitMessageImpl(
                                x.partition(),
                                x.bucket(),
                                x.totalBuckets(),
                                new DataIncrement(files, List.of(), List.of()),
                                x.compactIncrement()));
            }
            commit.commit(numbered);
        }
    }
}
