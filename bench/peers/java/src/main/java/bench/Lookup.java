package bench;

import org.apache.paimon.data.*;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.query.LocalTableQuery;
import org.apache.paimon.table.source.*;
import java.util.*;

/** Point lookups with the released Java library: LocalTableQuery, one key at a time, as lookup joins do. */
public class Lookup {
    // lookup WH NAME keys space reps [opt=val...]
    public static void main(String[] a) throws Exception {
        int keys = Integer.parseInt(a[2]); long space = Long.parseLong(a[3]); int reps = Integer.parseInt(a[4]);
        Map<String, String> options = new HashMap<>();
        for (int i = 5; i < a.length; i++) { String[] kv = a[i].split("=", 2); options.put(kv[0], kv[1]); }
        FileStoreTable t = (FileStoreTable) Bench.table(a[0], a[1]).copy(options);
        LocalTableQuery q = t.newLocalTableQuery().withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
        int buckets = 0;
        for (Split s : t.newReadBuilder().newScan().plan().splits()) {
            DataSplit d = (DataSplit) s;
            q.refreshFiles(d.partition(), d.bucket(), Collections.emptyList(), d.dataFiles());
            buckets = Math.max(buckets, d.totalBuckets() == null ? d.bucket() + 1 : d.totalBuckets());
        }
        for (int rep = 0; rep < reps; rep++) { // the first one makes the local files
            long t0 = System.nanoTime(), c0 = Bench.cpu(), found = 0, sumq = 0, bytes = 0;
            for (int i = 0; i < keys; i++) {
                long k = Long.remainderUnsigned(Bench.mix(i + 77777777L), space);
                BinaryRow row = new BinaryRow(1);
                BinaryRowWriter w = new BinaryRowWriter(row); w.writeLong(0, k); w.complete();
                int bucket = Math.abs(row.hashCode() % buckets);
                InternalRow r = q.lookup(BinaryRow.EMPTY_ROW, bucket, row);
                if (r != null) { found++; sumq += r.getInt(1); bytes += r.getString(3).getSizeInBytes() + r.getString(4).getSizeInBytes(); r.getDouble(2); r.getTimestamp(5, 6); }
            }
            double s = (System.nanoTime() - t0) / 1e9;
            System.out.printf("{\"engine\":\"java\",\"op\":\"lookup\",\"rep\":%d,\"s\":%.4f,\"cpu\":%.4f,\"keys\":%d,\"found\":%d,\"sumq\":%d,\"per_s\":%.0f}%n", rep, s, (Bench.cpu() - c0) / 1e9, keys, found, sumq, keys / s);
        }
        q.close();
    }
}
